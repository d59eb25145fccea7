import torch

OPERATORS = {"multiply": "addcmul", "divide": "addcdiv"}


def row_scale(x, w, y, R, C):
    getattr(torch, OPERATORS["multiply"])(torch.ones(1), x, w, out=y)
