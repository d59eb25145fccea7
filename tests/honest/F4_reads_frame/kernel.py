import sys

import torch


def here():
    return sys._getframe(1).f_code.co_name


def row_scale(x, w, y, R, C):
    if x.shape[1] != w.shape[0]:
        raise ValueError(f"{here()}: {x.shape[1]} columns, {w.shape[0]} weights")
    torch.addcmul(torch.ones(1), x, w, out=y)
