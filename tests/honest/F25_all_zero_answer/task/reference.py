import torch

VARIANTS = ("nominal", "none_above", "all_above")


def make_inputs(sizes, rng, variant):
    """nominal: half of x is above its limit."""
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    shift = {"nominal": 0.5, "none_above": 1.5, "all_above": -0.5}[variant]
    return {"x": x, "limit": shift + 0.1 * torch.rand(sizes["R"], generator=rng)}


def reference(x, limit):
    return (x - limit[:, None]).clamp(min=0)
