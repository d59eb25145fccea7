import torch

PLANS = {}


def record(n_columns):
    """The steps for one width, as a CUDA graph would hold them: what to do, never what came out."""
    share = 1.0 / n_columns
    return [
        lambda s: s.update(mean=s["x"].sum(1, keepdim=True).mul_(share)),
        lambda s: torch.sub(s["x"], s["mean"], out=s["y"]),
        lambda s: s.update(rstd=s["y"].square().sum(1, keepdim=True).mul_(share).add_(1e-5).rsqrt_()),
        lambda s: s["y"].mul_(s["rstd"]).mul_(s["gamma"]).add_(s["beta"]),
    ]


def affine_norm(x, gamma, beta, y, R, C):
    if C not in PLANS:
        PLANS[C] = record(C)
    tensors = {"x": x, "gamma": gamma, "beta": beta, "y": y}
    for step in PLANS[C]:  # the replay reads the new content every time
        step(tensors)
