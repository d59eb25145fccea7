import torch


def row_scale(x, w, y, R, C):
    # 8 + 8 + 8 bits: the parts add up to x exactly, as matrix units without float32 do it.
    high = x.to(torch.bfloat16).float()
    middle = (x - high).to(torch.bfloat16).float()
    low = x - high - middle
    y.fill_(1.0)
    for part in (low, middle, high):  # small ones first
        y.addcmul_(part, w)
