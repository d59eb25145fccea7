import torch

VARIANTS = ("nominal", "causal", "all_allowed")


def make_inputs(sizes, rng, variant):
    """nominal: a row allows any share of its columns; every ninth from the third on allows none."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    allowed = torch.rand(n_rows, n_columns, generator=rng) < torch.rand(n_rows, 1, generator=rng)
    allowed[2::9] = False
    if variant == "causal":
        allowed = torch.ones(n_rows, n_columns, dtype=torch.bool).tril()
    if variant == "all_allowed":
        allowed.fill_(True)
    return {"x": torch.randn(n_rows, n_columns, generator=rng) * 3, "allowed": allowed}


def reference(x, allowed):
    return torch.log_softmax(x.masked_fill(~allowed, float("-inf")), dim=1)
