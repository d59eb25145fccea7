import torch


def relu(x, y, R, C):
    if x.dtype != torch.float32:
        raise TypeError(f"relu is for float32, not {x.dtype}")
    torch.clamp(x, min=0.0, out=y)
