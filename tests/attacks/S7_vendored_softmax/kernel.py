import torch


def stable_exponentials(x, dim):
    """What a library's fallback for the operator does, step by step."""
    peak = torch.amax(x, dim=dim, keepdim=True)
    shifted = torch.exp(torch.sub(x, peak))
    return shifted, torch.sum(shifted, dim=dim, keepdim=True)


def softmax(x, y, R, C):
    exponentials, total = stable_exponentials(x, 1)
    torch.div(exponentials, total, out=y)
