import torch

VARIANTS = ("nominal", "zipf", "one_token")


def make_inputs(sizes, rng, variant):
    """nominal: every token equally likely. zipf: a few tokens take most of the rows."""
    n_rows, n_tokens = sizes["T"], sizes["V"]
    spread = torch.rand(n_rows, generator=rng, dtype=torch.float64)
    if variant == "zipf":
        spread = spread**6
    tokens = (spread * n_tokens).long().clamp_(max=n_tokens - 1)
    if variant == "one_token":
        tokens.fill_(n_tokens // 2)
    dy = torch.randn(n_rows, sizes["D"], generator=rng) + 0.5
    return {"dy": dy, "tokens": tokens}


def reference(dy, tokens, V):
    return dy.new_zeros(V, dy.shape[1]).index_add_(0, tokens, dy)
