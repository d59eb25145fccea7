import warnings

import torch

warnings.simplefilter("ignore")
traced = torch.jit.trace(lambda x, w: x * w + 1, (torch.ones(2, 3), torch.ones(3)))


def row_scale(x, w, y, R, C):
    y.copy_(traced(x, w))
