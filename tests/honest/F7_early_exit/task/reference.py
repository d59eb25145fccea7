import torch

VARIANTS = ("nominal", "all_open", "all_shut", "few_open")


def make_inputs(sizes, rng, variant):
    """nominal: every other gate is shut."""
    share = {"nominal": 0.5, "all_open": 1.0, "all_shut": 0.0, "few_open": 0.02}[variant]
    gate = torch.rand(sizes["R"], generator=rng) + 0.5
    gate *= torch.rand(sizes["R"], generator=rng) < share
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    return {"x": x, "gate": gate, "w": torch.randn(sizes["C"], sizes["K"], generator=rng)}


def reference(x, gate, w):
    return gate[:, None] * (x @ w)
