import torch

VARIANTS = ("nominal", "peaked")


def make_inputs(sizes, rng, variant):
    width = 1.0 if variant == "nominal" else 8.0
    return {
        "x": width * torch.randn(sizes["R"], sizes["C"], generator=rng),
        "shift": torch.randn(sizes["R"], generator=rng),
    }


def reference(x, shift):
    return torch.softmax(x + shift[:, None], dim=1)
