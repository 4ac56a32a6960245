"""Environment variables: read by several roads, some not set."""

import os

import torch

os.environ.setdefault("MUTANT_SET", "1.5")
DEFAULT = os.environ.get("MUTANT_AT_IMPORT", "2.0")


def entry(x):
    x = x * float(os.environ.get("MUTANT_SCALE", "1.0")) + float(DEFAULT)
    x = x * float(os.environ["MUTANT_SET"])
    x = x + 1 if "MUTANT_FLAG" in os.environ else x
    return x * 2 if os.environ.get("MUTANT_MODE") == "text" else x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
