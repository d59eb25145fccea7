import torch


def decay_state(state, x, a, w, y, R, C):
    torch.addcmul(x, state, a[:, None], out=state)
    torch.mul(state, w, out=y)
