import torch

VARIANTS = ("nominal", "ties", "sorted", "mixed_scale")


def make_inputs(sizes, rng, variant):
    """nominal: no value twice in a row."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    if variant == "nominal":
        return {"x": torch.rand(n_rows, n_columns, generator=rng).argsort(dim=1).float() - n_columns // 2}
    x = torch.randn(n_rows, n_columns, generator=rng)
    if variant == "ties":
        x = (x * 4).round()
    if variant == "sorted":
        x = x.sort(dim=1).values
    if variant == "mixed_scale":
        x *= 10 ** (torch.rand(n_rows, n_columns, generator=rng) * 6 - 3)
    return {"x": x}


def reference(x):
    return torch.sort(x, dim=1, stable=True).indices
