"""Modules in modules: containers, buffers, parameters by name, train and eval, hooks, extra state."""

import torch
from torch import nn

WIDTH = 8


class Block(nn.Module):
    bias = True

    def __init__(self, width, gain=1.0):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=self.bias)
        self.gain = gain
        self.drop = nn.Dropout(0.5)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.drop(self.act(self.linear(x))) * self.gain


class Net(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(WIDTH, gain=1.0 + place) for place in range(depth))
        self.heads = nn.ModuleDict({"a": nn.Linear(WIDTH, 4), "b": nn.Linear(WIDTH, 4)})
        self.norm = nn.LayerNorm(WIDTH, eps=1e-5)
        self.register_buffer("offset", torch.ones(4))
        self.register_parameter("absent", None)
        self.scale = nn.Parameter(torch.ones(4) * 2)

    def forward(self, x):
        for place, block in enumerate(self.blocks):
            x = block(x) if place % 2 == 0 else x + block(x)
        x = self.norm(x)
        one, other = [head(x) for name, head in self.heads.items() if name != "c"]
        x = one + other
        for name, child in self.named_children():
            x = x + 1 if name == "norm" else x
        if self.absent is None and "offset" in self._buffers:
            x = x + self.offset * self.scale
        return x * len(list(self.parameters())) * (2 if self.training else 1)


def make():
    return Net().eval(), (torch.linspace(-1, 1, 16).reshape(2, 8),)
