import torch

VARIANTS = ("nominal", "wide")


def make_inputs(sizes, rng, variant):
    n_rows, n_columns = sizes["R"], sizes["C"]
    return {
        "x": torch.randn(n_rows, n_columns, generator=rng) * (1.0 if variant == "nominal" else 5.0),
        "w": torch.randn(n_columns, n_columns, generator=rng) / n_columns**0.5,
        "gain": torch.zeros(n_columns),  # as a residual branch is initialised
    }


def reference(x, w, gain):
    return x + gain * torch.tanh(x @ w)
