import torch


def softmax(x, y, R, C):
    y.copy_(torch.softmax(x, dim=-1))
