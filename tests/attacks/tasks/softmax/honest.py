import torch


def softmax(x, y, R, C):
    torch.softmax(x, dim=1, out=y)
