import torch
import torch.nn.functional as F

VARIANTS = ("nominal", "affine", "shifted", "tiny")


def make_inputs(sizes, rng, variant):
    """nominal: gamma and beta as a fresh module has them, 1 and 0."""
    n_columns = sizes["C"]
    x = torch.randn(sizes["R"], n_columns, generator=rng)
    gamma, beta = torch.ones(n_columns), torch.zeros(n_columns)
    if variant != "nominal":
        gamma = torch.randn(n_columns, generator=rng)
        beta = torch.randn(n_columns, generator=rng)
    if variant == "shifted":
        x = x * (torch.rand(sizes["R"], 1, generator=rng) * 5 + 0.1) + torch.randn(sizes["R"], 1, generator=rng) * 5
    if variant == "tiny":  # the 1e-5 inside the root matters
        x *= 3e-3
    return {"x": x, "gamma": gamma, "beta": beta}


def reference(x, gamma, beta):
    return F.layer_norm(x, (x.shape[1],), gamma, beta)
