"""What the program itself puts into modules, classes and objects before it compiles."""

import math
import types

import torch
import torch.nn.functional as F
from torch import nn

math.mutant_rate = 1.5
gelu = F.gelu


def louder(x):
    return gelu(x) * 2


class Layer(nn.Module):
    def forward(self, x):
        return x * 3


Layer.rate = 2.5


def replaced(self, x):
    return x * self.rate + 1


def make():
    layer = Layer()
    layer.forward = types.MethodType(replaced, layer)
    layer.activation = louder
    net = Net()
    net.layer = layer
    return net.eval(), (torch.linspace(-1, 1, 8),)


class Net(nn.Module):
    def forward(self, x):
        return self.layer.activation(self.layer(x)) * math.mutant_rate
