import torch

VARIANTS = ("nominal", "spike", "mixed_scale", "cancelling")


def make_inputs(sizes, rng, variant):
    n_rows, n_columns = sizes["R"], sizes["C"]
    x = torch.rand(n_rows, n_columns, generator=rng) + 0.5
    if variant == "spike":
        x *= 1e-3
        place = torch.randint(0, n_columns, (n_rows, 1), generator=rng)
        x.scatter_(1, place, 1000 * torch.rand(n_rows, 1, generator=rng) + 1000)
    if variant == "mixed_scale":  # a quiet start, then whatever scale the column has
        x[:, n_columns // 50 :] *= 10 ** (torch.rand(n_columns - n_columns // 50, generator=rng) * 6 - 3)
    if variant == "cancelling":
        x *= torch.where(torch.rand(n_rows, n_columns, generator=rng) < 0.4, -1.0, 1.0)
    return {"x": x}


def reference(x):
    return x.sum(dim=1)
