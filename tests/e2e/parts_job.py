"""A small model that hears series of several lengths: convolutions, which need numbers, between what does not. Prints one
JSON line.

usage: parts_job.py LENGTH...
"""

import json
import sys

import torch
from torch._dynamo.utils import counters

import stoker


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv1d(4, 8, 3)
        self.second = torch.nn.Conv1d(8, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.LayerNorm(8)
        self.around, self.over = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        heard = self.second(torch.nn.functional.gelu(self.first(x - x.mean(-1, keepdim=True)))).transpose(1, 2)
        places = torch.igamma(heard.abs() + 2, heard.abs() + 1)  # PyTorch's.
        known = self.norm(heard + places)
        known = torch.nn.functional.scaled_dot_product_attention(*[known[:, None]] * 3)[:, 0]
        return self.over(self.around(known).relu()).sum(1), heard.roll(heard.shape[1] // 2, 1)


def main(lengths):
    torch.manual_seed(0)
    model = Model().eval()
    compiled = torch.compile(model, backend="stoker", dynamic=True)
    wrong = []
    with torch.no_grad():
        for length in lengths:
            for rows in (2, 3):
                x = torch.randn(rows, 4, length)
                expected, actual = model(x), compiled(x)
                if not all(map(lambda a, b: a.stride() == b.stride() and torch.allclose(a, b, atol=1e-5), expected, actual)):
                    wrong.append((rows, length))
    print(json.dumps({
        "wrong": wrong, "counters": stoker.counters(), "traced": dict(counters["frames"]),
        "fallbacks": sorted(stoker.fallback_ops()), "graphs": len(stoker.compiles())}))


if __name__ == "__main__":
    main(list(map(int, sys.argv[1:])))
