import torch

VARIANTS = ("nominal", "spikes")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "spikes":
        x[:, ::97] *= 3
    return {"x": x, "w": torch.rand(sizes["C"], generator=rng)}


def reference(x, w):
    return 1000 + x * w
