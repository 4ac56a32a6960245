"""Which library computes a convolution on a GPU, and how."""

import torch


def runs_by_cudnn(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Does aten.convolution run it by cuDNN, forward?"""
    chosen = torch._C._select_conv_backend(
        x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    return chosen == torch._C._ConvBackend.Cudnn


def is_repeatable():
    """Does the program ask for the same bits in every call, now?"""
    return torch._C._get_cudnn_deterministic() or torch._C._get_deterministic_algorithms()


def settings_of_cudnn(dtype):
    """(benchmark, deterministic, allow_tf32) of the moment, as aten.convolution would take them."""
    return (
        torch._C._get_cudnn_benchmark(), is_repeatable(),
        dtype == torch.float32 and torch.backends.cudnn.conv.fp32_precision == "tf32")
