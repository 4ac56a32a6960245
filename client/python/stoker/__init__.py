"""Stoker for PyTorch: torch.compile(model, backend="stoker").

Importing this package imports neither PyTorch nor libstoker; both come with the first graph.
"""

from .counters import compiles, counters, fallback_ops, last_compile

__version__ = "0.1.0"
__all__ = ["compiles", "counters", "fallback_ops", "last_compile", "status"]


def status():
    """The daemon's status as a dictionary."""
    from .client import status as ask

    return ask()
