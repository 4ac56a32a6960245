"""The extension module stoker_guards: what is asked of many tensors in every call, where it lies in memory, and of this process.

One file of CPython's stable ABI, beside libstoker. Where it is missing or cannot be loaded, PyTorch and Python are asked."""

import functools
import importlib.machinery
import importlib.util

from ..base.signals import let_through
from .library import find_library

_NAME = "stoker_guards"
_SUFFIX = ".abi3.so"


@functools.cache
def extension():
    """The module, or None."""
    if _SUFFIX not in importlib.machinery.EXTENSION_SUFFIXES:  # Objects lie otherwise: free-threaded builds.
        return None
    library = find_library()
    path = None if library is None else library.parent / f"{_NAME}{_SUFFIX}"
    if path is None or not path.exists():
        return None
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
    try:
        module = importlib.util.module_from_spec(
            importlib.util.spec_from_loader(_NAME, loader))
        loader.exec_module(module)
        module.learn_signals(let_through)
    except ImportError as error:
        let_through(error)
        return None
    return module
