import torch

VARIANTS = ("nominal", "mixed_scale")


def make_inputs(sizes, rng, variant):
    """Scores relative to the first class."""
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    x[:, 0] = 2.0
    if variant == "mixed_scale":
        x *= 10 ** (2 * torch.rand(sizes["R"], 1, generator=rng) - 1)
    return {"x": x}


def reference(x):
    return x.argmax(dim=1)
