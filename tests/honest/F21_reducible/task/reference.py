import torch

VARIANTS = ("nominal", "spikes", "mixed_scale")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "spikes":
        x[:, ::31] *= 10
    if variant == "mixed_scale":
        x *= 10 ** torch.rand(sizes["R"], 1, generator=rng)
    return {"x": x, "w": torch.randn(sizes["C"], sizes["K"], generator=rng)}


def reference(x, w):
    return (x @ w).sum(dim=1)
