import torch


def row_scale(x, w, y, R, C):
    assert w.is_contiguous()  # the task declares it; a clone with other strides would not be the same argument
    assert w.stride() == (1,)
    torch.addcmul(torch.ones(1), x, w.expand(R, C), out=y)
