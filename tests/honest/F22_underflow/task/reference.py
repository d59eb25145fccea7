import torch

VARIANTS = ("nominal", "near")


def make_inputs(sizes, rng, variant):
    """nominal: a few values in a thousand are so far out that only float64 can tell the result from zero."""
    x = torch.randn(sizes["N"], generator=rng) * (0.1 if variant == "near" else 4.0)
    x[0] = 0.5
    return {"x": x}


def reference(x):
    return torch.exp(-x * x)
