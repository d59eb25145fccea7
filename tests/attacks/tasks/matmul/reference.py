import torch

VARIANTS = ("nominal", "integers", "mixed_scale")


def make_inputs(sizes, rng, variant):
    a = torch.randn(sizes["M"], sizes["K"], generator=rng)
    b = torch.randn(sizes["K"], sizes["N"], generator=rng)
    if variant == "integers":  # exact in float32, not below
        a = (a * 100).round()
        b = (b * 100).round()
    if variant == "mixed_scale":
        a *= 10 ** (torch.rand(sizes["M"], 1, generator=rng) * 4 - 2)
    return {"a": a, "b": b}


def reference(a, b):
    return a @ b
