import torch

VARIANTS = ("nominal", "signed", "sparse", "rare")


def make_inputs(sizes, rng, variant):
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    if variant == "signed":
        x = x * 2 - 1
    if variant == "sparse":
        x = torch.where(x < 0.9, -x, x)
    if variant == "rare":  # a handful of negative elements where nobody looks
        x.view(-1)[torch.randint(x.numel(), (min(5, x.numel()),), generator=rng)] *= -1
    return {"x": x}


def reference(x):
    return torch.relu(x)
