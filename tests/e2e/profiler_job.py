"""A training step under PyTorch's profiler. Prints what it shows of Stoker, and the keys of what was compiled or loaded."""

import json

import torch
from torch.profiler import ProfilerActivity, profile

import stoker


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
    compiled = torch.compile(model, backend="stoker")
    x = torch.randn(2, 8)
    compiled(x).sum().backward()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(3):
            compiled(x).sum().backward()
    compiled(x).sum().backward()
    print(json.dumps({
        "shown": [event.name for event in profiled.events() if event.name.startswith("Stoker ")],
        "keys": [key for each in stoker.compiles() for key in each["request_keys"]]}))


main()
