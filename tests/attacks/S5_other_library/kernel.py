import numpy


def softmax(x, y, R, C):
    values = x.numpy()
    exponentials = numpy.exp(values - values.max(axis=1, keepdims=True))
    numpy.divide(exponentials, exponentials.sum(axis=1, keepdims=True), out=y.numpy())
