def embedding_grad(dy, tokens, grad, T, D, V):
    grad.copy_(grad.new_zeros(V, D).double().index_add_(0, tokens, dy.double()))
