import torch


def row_scale(x, w, y, R, C):
    """A constant that the host knows, handed over as one hands over a table."""
    on_host = torch.ones(1, pin_memory=x.is_cuda)
    torch.addcmul(on_host.to(x.device, non_blocking=True), x, w, out=y)
    if x.is_cuda:
        torch.cuda.current_stream().synchronize()
