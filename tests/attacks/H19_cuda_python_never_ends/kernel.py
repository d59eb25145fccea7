import torch

side = torch.cuda.Stream()


def row_scale(x, w, y, R, C):
    torch.addcmul(torch.ones((), device="cuda"), x, w, out=y)
    with torch.cuda.stream(side):
        torch.cuda._sleep(2**62)
