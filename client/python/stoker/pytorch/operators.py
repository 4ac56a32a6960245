"""Operators as a graph names them."""

import contextlib

import torch

OpOverload = type(torch.ops.aten.add.Tensor)
OpOverloadPacket = type(torch.ops.aten.add)


def look_at_real_tensors():
    """A context in which AOTAutograd's fake mode is off."""
    try:
        from torch.utils._python_dispatch import _disable_current_modes
    except ImportError:
        return contextlib.nullcontext()
    return _disable_current_modes()


def fake_mode():
    """A mode in which operators know sizes and compute nothing."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)
