def softmax(x, y, R, C):
    y.zero_()
