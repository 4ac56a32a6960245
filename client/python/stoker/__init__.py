"""Stoker for PyTorch: torch.compile(model, backend="stoker"), or stoker.compile(model).

Importing this package imports neither PyTorch nor libstoker; both come with the first graph.
"""

from .base.tally import compiles, counters, fallback_ops, last_compile
from .runtime.profiling import profile

__version__ = "0.1.0"
__all__ = ["compile", "compiles", "counters", "fallback_ops", "last_compile", "profile", "status"]


def status():
    """The daemon's status as a dictionary."""
    from .libstoker.client import status as ask

    return ask()


def compile(model=None, **settings):
    """As torch.compile(model, backend="stoker", **settings), for short processes: where a capture holds,
    nothing of PyTorch's compiler is imported. Settings: mode, options, dynamic, fullgraph."""
    from .captures.direct import compile as compile_directly

    return compile_directly(model, **settings)
