"""The extension stoker_guards, and where PyTorch keeps what that reads. Where it cannot see that, PyTorch is asked."""

import functools

import torch

from ...base.signals import let_through
from ...libstoker.extension import extension
from ..tensors import keys_number


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


__all__ = ["extension", "learn_tensors"]
