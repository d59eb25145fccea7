import torch


def make_inputs(sizes, rng, variant):
    return {"x": torch.randn(sizes["R"], sizes["C"], generator=rng) + 0.5}


def reference(x):
    return torch.cumsum(x, 1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)
