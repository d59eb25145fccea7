import torch
import torch.nn.functional as F

VARIANTS = ("nominal", "large")


def make_inputs(sizes, rng, variant):
    size = 20.0 if variant == "large" else 1.0
    return {
        "x": torch.randn(sizes["R"], sizes["C"], generator=rng) * size,
        "scale": torch.randn(sizes["C"], generator=rng),
        "shift": torch.randn(sizes["C"], generator=rng),
        "slope": 0.01 + 0.2 * float(torch.rand((), generator=rng)),
    }


def reference(x, scale, shift, slope):
    return F.leaky_relu(x * torch.sigmoid(scale * x + shift), slope)
