import torch

VARIANTS = ("nominal", "slow_decay", "mixed_decay")


def make_inputs(sizes, rng, variant):
    """nominal: decays around 0.5, so old mistakes fade. slow_decay: they stay."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    share = torch.rand(n_rows, generator=rng)
    a = 0.4 + 0.2 * share
    if variant == "slow_decay":
        a = 1 - 1e-3 * share
    if variant == "mixed_decay":
        a = share.sqrt()
    return {
        "state": torch.randn(n_rows, n_columns, generator=rng),
        "x": torch.randn(n_rows, n_columns, generator=rng),
        "a": a.clamp(max=1.0),
        "w": torch.randn(n_columns, generator=rng),
    }


def reference(state, x, a, w):
    state.mul_(a[:, None].to(state.dtype)).add_(x)
    return (state * w).to(x.dtype)
