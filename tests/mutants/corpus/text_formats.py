"""Texts that are made: formats, joins, methods of str; names that they make."""

import torch

WIDTHS = {"layer_1": 1.5, "layer_2": 2.5, "LAYER": 0.5}
TEMPLATE = "layer_{}"
SEPARATOR = "_"


class Config:
    layer_one = 1.0
    layer_two = 3.0


def entry(x):
    for place in (1, 2):
        x = x * WIDTHS[TEMPLATE.format(place)]
    x = x + WIDTHS["layer".upper()] + WIDTHS["layer_%d" % 1]
    name = SEPARATOR.join(("layer", "one"))
    x = x + getattr(Config, name) + len(f"{x.dtype}")
    return x * (2 if TEMPLATE.startswith("layer") else 3)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
