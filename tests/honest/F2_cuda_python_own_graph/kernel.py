import torch

graphs = {}


def work(x, w, y):
    torch.mul(x, w, out=y)
    y.add_(1)


def row_scale(x, w, y, R, C):
    """Where somebody else captures, or there is no device, the plain operations."""
    if not x.is_cuda or torch.cuda.is_current_stream_capturing():
        work(x, w, y)
        return
    key = x.data_ptr(), w.data_ptr(), y.data_ptr(), R, C
    if key not in graphs:
        if len(graphs) >= 64:
            graphs.clear()
        work(x, w, y)  # what is set up at a first use must not be captured
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work(x, w, y)
        graphs[key] = graph
    graphs[key].replay()
