import torch

VARIANTS = ("nominal", "signed")
SCALES = ()


def make_inputs(sizes, rng, variant):
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    if variant == "signed":
        x *= torch.randint(2, (sizes["R"], sizes["C"]), generator=rng) * 2 - 1
    return {"x": x}


def reference(x):
    return torch.cumprod(x, dim=1)
