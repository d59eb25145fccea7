import torch

VARIANTS = ("nominal", "spikes")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "spikes":
        x[:, ::89] *= 40
    return {"x": x, "mask": torch.ones(sizes["R"], sizes["C"], dtype=torch.bool)}


def reference(x, mask):
    return (x * mask).sum(dim=1)
