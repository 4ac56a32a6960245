"""stoker.convolution_relu: a convolution and what follows it, as one operator that plans call."""

import torch

from ...base.log import logger
from ...pytorch.convolutions import is_repeatable
from . import cudnn

_LIBRARY = torch.library.Library("stoker", "DEF")
_LIBRARY.define(
    "convolution_relu(Tensor image, Tensor weight, Tensor shift, Tensor? residual, int[] stride, int[] padding, "
    "int[] dilation) -> Tensor")
FUSED = torch.ops.stoker.convolution_relu.default
_DTYPES = (torch.bfloat16, torch.float16)  # Of float32 cuDNN's graphs may drop digits, whatever was asked for.
_ALIGNED = 16


def _in_steps(image, weight, shift, residual, stride, padding, dilation):
    """What it is, where no kernel does all of it: the sums of products are rounded, and the rest once more."""
    spatial = len(stride)
    result = torch.ops.aten.convolution.default(image, weight, None, stride, padding, dilation, False, [0] * spatial, 1)
    wide = result.to(torch.promote_types(result.dtype, torch.float32))
    wide = wide + shift.view(-1, *[1] * spatial)
    return (wide if residual is None else wide + residual).relu().to(result.dtype)


def _convolution(image, weight, *others):
    if image.device.type == "cuda":
        result = _empty_result(image, weight, *others[-3:])
        run = written_to(result, image, weight, *others)
        if run is not None:
            run()
            return result
    return _in_steps(image, weight, *others)


_LIBRARY.impl("convolution_relu", _convolution, "CompositeExplicitAutograd")


def _empty_result(image, weight, stride, padding, dilation):
    places = [
        (size + 2 * around - gap * (extent - 1) - 1) // step + 1 for size, around, gap, extent, step
        in zip(image.shape[2:], padding, dilation, weight.shape[2:], stride)]
    layout = torch.channels_last if len(places) == 2 else torch.channels_last_3d
    return torch.empty(
        (image.shape[0], weight.shape[0], *places), dtype=image.dtype, device=image.device, memory_format=layout)


def written_to(result, image, weight, shift, residual, stride, padding, dilation):
    """A function that computes it there by one kernel; None where there is none."""
    images = [image, weight, result] + ([] if residual is None else [residual])
    if image.device.type != "cuda" or image.dtype not in _DTYPES or not torch.backends.cudnn.enabled or (
            not all(map(_lies_channels_last, images)) or any(each.data_ptr() % _ALIGNED for each in (*images, shift))
            or shift.dtype != image.dtype):
        return None
    fused = cudnn.Fused(
        image.device, image.dtype, tuple(image.shape), tuple(weight.shape), tuple(result.shape), tuple(stride), tuple(padding),
        tuple(dilation), residual is not None, is_repeatable())
    tensors = [image, weight, *([] if residual is None else [residual]), shift, result]
    run = cudnn.on(fused, tensors)
    if run is None:
        return None
    given = image, weight, shift, residual, stride, padding, dilation
    return _Written({fused.is_repeatable: run}, fused, tensors, lambda: result.copy_(_in_steps(*given)))


class _Written:
    """Computes it there."""

    def __init__(self, runs, fused, tensors, run_in_steps):
        self._runs, self._fused, self._tensors, self._run_in_steps = runs, fused, tensors, run_in_steps

    def __call__(self):
        asked = is_repeatable()
        if asked not in self._runs:
            self._runs[asked] = cudnn.on(self._fused._replace(is_repeatable=asked), self._tensors)
        run = self._runs[asked]
        try:
            if run is not None:
                run()
                return
        except cudnn.Refused as error:
            logger.info("a kernel of cuDNN's for a convolution and what follows it does not run: %s", error)
            self._runs[asked] = None
        self._run_in_steps()

    def to_record(self):
        """Behind a call: a function of a stream that gives it all that the call has given, while is_repeatable() is what it
        was, where it is time that somebody records that; else None."""
        run = self._runs.get(is_repeatable())
        return run and run.to_record()


def _lies_channels_last(tensor):
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    return layout is not None and tensor.is_contiguous(memory_format=layout)
