import torch

VARIANTS = ("nominal", "mixed_scale")


def make_inputs(sizes, rng, variant):
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    if variant == "mixed_scale":
        x *= 10 ** torch.rand(sizes["R"], 1, generator=rng)
    return {"x": x}


def reference(x):
    return x.sum(dim=1)
