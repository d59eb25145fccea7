import torch

VARIANTS = ("nominal", "spikes")


def make_inputs(sizes, rng, variant):
    n_columns = sizes["C"]
    x = torch.randn(sizes["R"], n_columns, generator=rng)
    if variant == "spikes":
        x[:, ::31] *= 10
    return {"x": x, "w": torch.randn(n_columns, n_columns, generator=rng)}


def reference(x, w, B):
    index = torch.arange(w.shape[0])
    band = (index[:, None] - index[None, :]).abs() < B
    return x @ (w * band)
