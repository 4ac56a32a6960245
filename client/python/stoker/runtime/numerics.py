"""What products of float32 matrices may lose for speed: a setting of PyTorch's that may change between calls."""

from ..pytorch import state
from ..pytorch.marks import boxed


def by_numerics(device, numerics, function, make):
    """A boxed function that runs what make(numerics) gives for those of `device` that hold when it is called; `function` is
    that for `numerics`."""
    versions = {numerics: function}

    @boxed
    def run(arguments):
        now = state.numerics(device)
        if now not in versions:
            versions[now] = make(now)
        return versions[now](arguments)

    return run
