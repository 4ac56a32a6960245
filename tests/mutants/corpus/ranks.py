"""What torch.distributed says: which rank of how many, as a function, by an attribute that was set."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import get_world_size


def share(x):
    if not dist.is_initialized():
        return x * 5
    count = x.shape[0] // get_world_size()
    return x[dist.get_rank() * count:][:count]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.is_first = not dist.is_initialized() or dist.get_rank() == 0

    def forward(self, x):
        x = share(x)
        return x + 1 if self.is_first else x * 2


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
