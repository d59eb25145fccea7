import torch

VARIANTS = ("nominal", "positive")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["B"], sizes["N"], generator=rng)
    y = torch.randn(sizes["B"], sizes["N"], generator=rng)
    if variant == "positive":
        x, y = x.abs(), y.abs()
    return {"x": x, "y": y}


def reference(x, y):
    return (x[:, :, None] * y[:, None, :]).sum(dim=(1, 2))
