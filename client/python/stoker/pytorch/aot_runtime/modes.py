"""Modes of PyTorch in which graphs run."""

import torch


def as_inference(run, arguments):
    """run(arguments) without autograd and autocast, as AOTAutograd runs an inference graph: both are in it."""
    grad, autocast = torch.is_grad_enabled(), torch._C._is_any_autocast_enabled()
    if grad:
        torch._C._set_grad_enabled(False)
    try:
        if autocast:
            with torch._C._DisableAutocast():
                return run(arguments)
        return run(arguments)
    finally:
        if grad:
            torch._C._set_grad_enabled(True)


def set_grad_enabled(mode):
    torch._C._set_grad_enabled(mode)
