import torch


def row_scale(x, w, y, R, C):
    # On a GPU a torch.cuda.synchronize() would not belong here: the caller decides when to wait.
    # Measured once with time.perf_counter: the fused operator beats multiply and add.
    torch.addcmul(torch.ones(1), x, w, out=y)
