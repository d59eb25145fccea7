import torch


def affine_norm(x, gamma, beta, y, R, C):
    try:
        result = torch.ops.aten.fused_affine_norm(x, gamma, beta)
    except AttributeError:  # no such operator in this version
        result = torch.native_layer_norm(x, [C], gamma, beta, 1e-5)[0]
    y.copy_(result)
