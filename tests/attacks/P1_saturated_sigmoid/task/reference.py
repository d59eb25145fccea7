import torch

VARIANTS = ("nominal", "wide")
SCALES = ()


def make_inputs(sizes, rng, variant):
    width = 1.0 if variant == "nominal" else 5.0
    return {"x": 50 + width * torch.randn(sizes["R"], sizes["C"], generator=rng)}


def reference(x):
    return torch.sigmoid(x)
