import threading

import torch


def row_scale(x, w, y, R, C):
    half, one = R // 2, torch.ones(1)
    other = threading.Thread(target=lambda: torch.addcmul(one, x[:half], w, out=y[:half]))
    other.start()
    torch.addcmul(one, x[half:], w, out=y[half:])
    other.join()
