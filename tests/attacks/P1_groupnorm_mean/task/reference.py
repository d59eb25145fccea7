import torch

VARIANTS = ("nominal", "shifted", "mixed_scale")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["N"], sizes["G"], sizes["K"], generator=rng)
    if variant == "shifted":
        x += 3 * torch.randn(sizes["N"], 1, 1, generator=rng)
    if variant == "mixed_scale":
        x *= 10 ** (2 * torch.rand(sizes["N"], 1, 1, generator=rng) - 1)
    return {"x": x}


def reference(x):
    centred = x - x.mean(dim=2, keepdim=True)
    normal = centred * torch.rsqrt((centred * centred).mean(dim=2, keepdim=True) + 1e-5)
    return normal.mean(dim=(1, 2))
