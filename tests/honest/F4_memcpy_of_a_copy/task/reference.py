import torch
import torch.nn.functional as F

VARIANTS = ("nominal", "signed_zeros")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "signed_zeros":
        x *= torch.rand(x.shape, generator=rng) < 0.5
    return {"x": x}


def reference(x, P):
    return F.pad(x, (P, P))
