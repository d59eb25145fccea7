import torch

VARIANTS = ("nominal", "mixed_scale")


def make_inputs(sizes, rng, variant):
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    if variant == "mixed_scale":
        x *= 10 ** torch.rand(sizes["R"], 1, generator=rng)
    return {"x": x}


def reference(x):
    total = x.sum(dim=1)
    return total * (1 + 0.01 * torch.randn(total.shape, dtype=total.dtype))
