"""How what an operator of PyTorch gives gets to where a plan wants it: written there, or copied."""

import functools

import torch

from ..pytorch.convolutions import runs_by_cudnn, settings_of_cudnn
from ..pytorch.operators import has_kernel, schema_of
from .convolutions import fused

aten = torch.ops.aten


def writer_of(operator, arguments, keywords, results):
    """A function that runs the operator and writes to the tensors `results`, [(which of those that it gives, or None where
    it gives one; the tensor)]; None where PyTorch has no such form of it."""
    if len(results) != 1 or results[0][0] is not None:
        return None
    result = results[0][1]
    if operator is aten.convolution.default:
        return _convolution_into(result, *arguments)
    if operator is fused.FUSED:
        return fused.written_to(result, *arguments)
    form = _form_with_out(operator, result.device.type)
    return form and functools.partial(form, *arguments, **keywords, out=result)


@functools.cache
def _form_with_out(operator, device_type):
    """The overload with the same arguments that writes to its last one, by a kernel of its own."""
    wanted = _arguments_of(operator)
    for name in operator.overloadpacket.overloads():
        form = getattr(operator.overloadpacket, name)
        written = [argument for argument in schema_of(form).arguments if argument.is_out]
        if len(written) == 1 and written[0].name == "out" and _arguments_of(form) == wanted and (
                has_kernel(form, device_type)):
            return form
    return None


def _arguments_of(operator):
    return [(argument.name, str(argument.type)) for argument in schema_of(operator).arguments if not argument.is_out]


def _convolution_into(result, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if result.device.type != "cuda" or bias is not None or x.dim() not in (4, 5) or not runs_by_cudnn(
            x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        return None

    def run():
        aten.cudnn_convolution.out(
            x, weight, padding, stride, dilation, groups, *settings_of_cudnn(x.dtype), out=result)

    return run
