scale = 1.5
unused = 3
_offset = 0.25


def shift(x, more=1.0):
    return x + _offset * more
