"""Weights that are packed, tensors of inference mode, a weight that two layers share."""

import torch
from torch import nn

WIDTH = 512


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.tied = nn.Linear(WIDTH, WIDTH, bias=False)
        self.tied.weight = self.first.weight
        self.conv = nn.Conv1d(4, 4, 3, padding=1)
        with torch.inference_mode():
            self.register_buffer("scale", torch.full((WIDTH,), 0.5))

    def forward(self, x):
        x = torch.relu(self.first(x)) * self.scale
        x = self.conv(self.second(x).unsqueeze(0)).squeeze(0)
        return self.tied(x)


def make():
    return Net().eval(), (torch.linspace(-1, 1, 4 * WIDTH).reshape(4, WIDTH),)
