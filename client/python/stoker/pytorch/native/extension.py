"""The extension module stoker_guards: what is asked of many tensors in every call, where it lies in memory.

One file of CPython's stable ABI, beside libstoker. Where it is missing or cannot be loaded, PyTorch is asked."""

import functools
import importlib.machinery
import importlib.util

import torch

from ...base.signals import let_through
from ...libstoker.library import find_library
from ..tensors import keys_number

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


@functools.cache
def learn_tensors():
    """Shows the extension where tensors keep their metadata. False: it asks PyTorch about each tensor."""
    with torch.inference_mode(False), torch.enable_grad():
        probe = _probe()
        return extension().learn_tensors(probe, keys_number(probe))


def _probe():
    like = {"dtype": torch.float64, "device": "cpu"}
    try:
        # Its memory is not what frees it, as that of most tensors is, so that the two are told apart.
        memory = torch.frombuffer(bytearray(12 * 8), dtype=torch.float64).untyped_storage()
        return torch.empty(0, **like).set_(memory, 0, (2, 3), (7, 2))
    except (NotImplementedError, RuntimeError) as error:  # Within a mode, which makes tensors of another kind.
        let_through(error)
        return torch.empty_strided((2, 3), (7, 2), **like)
