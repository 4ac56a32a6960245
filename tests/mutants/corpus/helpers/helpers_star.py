__all__ = ["starred", "STAR"]
STAR = 1.25
_inside = 2.0


def starred(x):
    return x * _inside
