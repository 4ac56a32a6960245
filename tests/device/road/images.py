"""Small networks of images: convolutions of every kind with what follows them, channels last and not."""

import functools

import torch
from torch import nn
from torch.nn import functional as F

from device.road.workloads import Workload


class Layers(nn.Module):
    """Two convolutions with batch norm, as a residual network has them, and a head."""

    def __init__(self, channels, features, size, bias=False, is_residual=False, **options):
        super().__init__()
        self.first = nn.Conv2d(channels, features, size, bias=bias, **options)
        self.second = nn.Conv2d(features, features, size, bias=not bias, **options)
        for convolution in (self.first, self.second):
            if convolution.bias is not None:
                convolution.bias.requires_grad_(False)  # Its gradient is nothing but rounding: the norm takes it out.
        self.norms = nn.ModuleList([_norm(features), _norm(features)])
        self.head = nn.Linear(features, 10)
        self.is_residual = is_residual

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        z = self.norms[1](self.second(y))
        z = F.relu(z + y if self.is_residual else z)
        return y, z, self.head(F.adaptive_avg_pool2d(F.max_pool2d(z, 2), 1).flatten(1))


class Plain(nn.Module):
    """Without batch norm: biases alone."""

    def __init__(self, channels, features, size, **options):
        super().__init__()
        self.first = nn.Conv2d(channels, features, size, **options)
        self.second = nn.Conv2d(features, features, 1)

    def forward(self, x):
        y = F.relu(self.first(x))
        return F.relu(self.second(y) + y)


def _norm(features):
    norm = nn.BatchNorm2d(features)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.3, 2)
    return norm


# Name -> (module, channels, features, sizes of images, options).
_KINDS = {
    "one place": (Layers, 24, 40, 1, (16, 16), {"is_residual": True}),
    "one place of odd sizes": (Layers, 13, 27, 1, (7, 9), {"bias": True, "is_residual": True}),
    "one place by strides": (Layers, 16, 32, 1, (17, 15), {"stride": 2}),
    "three": (Layers, 16, 32, 3, (14, 14), {"padding": 1, "is_residual": True}),
    "three of odd sizes": (Layers, 17, 33, 3, (11, 13), {"padding": 1, "bias": True, "is_residual": True}),
    "three by strides": (Layers, 3, 64, 3, (33, 31), {"padding": 1, "stride": 2}),
    "groups": (Layers, 32, 64, 3, (9, 12), {"padding": 1, "groups": 4, "is_residual": True}),
    "depthwise": (Layers, 32, 32, 5, (12, 12), {"padding": 2, "groups": 32}),
    "dilated": (Layers, 8, 16, 3, (16, 18), {"padding": 2, "dilation": 2, "bias": True}),
    "plain": (Plain, 12, 24, 3, (10, 10), {"padding": 1}),
}


def _images(shape, is_last):
    layout = torch.channels_last if is_last else torch.contiguous_format
    return lambda dtype: (torch.randn(shape).to(dtype).to(memory_format=layout),)


IMAGES = {
    f"{name}{suffix}": Workload(
        functools.partial(module, channels, features, size, **options), _images((2, channels, *sizes), is_last), is_last)
    for is_last, suffix in ((True, ""), (False, " channels second"))
    for name, (module, channels, features, size, sizes, options) in _KINDS.items()}
