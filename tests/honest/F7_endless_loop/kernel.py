import torch

ROWS = 4


def softmax(x, y, R, C):
    first = 0
    while True:
        torch.softmax(x[first : first + ROWS], dim=1, out=y[first : first + ROWS])
        first += ROWS
        if first >= R:
            break
