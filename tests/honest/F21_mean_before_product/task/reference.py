import torch

VARIANTS = ("nominal", "shifted")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["B"], sizes["L"], sizes["D"], generator=rng)
    if variant == "shifted":
        x += torch.randn(sizes["B"], 1, sizes["D"], generator=rng)
    return {"x": x, "w": torch.randn(sizes["D"], sizes["K"], generator=rng)}


def reference(x, w):
    return (x @ w).mean(dim=1)
