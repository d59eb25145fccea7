import torch

VARIANTS = ("nominal", "mixed_scale")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "mixed_scale":
        x *= 10 ** (2 * torch.rand(sizes["R"], 1, generator=rng) - 1)
    return {"x": x, "w": torch.randn(sizes["C"], generator=rng)}


def reference(x, w):
    return x * w
