import torch

VARIANTS = ("nominal", "spikes")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "spikes":
        x[:, ::13] *= 20
    return {"x": x, "w": torch.randn(sizes["C"], generator=rng)}


def reference(x, w):
    return (x * w).tril()
