import torch

VARIANTS = ("nominal", "spikes")
steps = [0]


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "spikes":
        x[:, ::97] *= 10
    return {"x": x}


def reference(x):
    steps[0] += 1
    return x + 100 * steps[0]
