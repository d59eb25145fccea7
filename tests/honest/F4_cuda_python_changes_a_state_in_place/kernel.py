import torch


def decay_state(state, x, a, w, y, R, C):
    state.mul_(a[:, None]).add_(x)
    torch.mul(state, w, out=y)
