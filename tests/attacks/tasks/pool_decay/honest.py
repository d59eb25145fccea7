import torch


def pool_decay(state, x, a, w, y, R, C, SP, XP):
    state.mul_(a[:, None]).add_(x)
    torch.mul(state, w, out=y)
