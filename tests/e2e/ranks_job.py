"""One rank of a program of several, eager and compiled, for test_ranks.py: one JSON line.

usage: ranks_job.py RANK RANKS FILE   ranks meet over the file, and talk through gloo
"""

import copy
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

import stoker

ROWS = 8


class Shard(nn.Module):
    """Each rank's part of the rows, by what torch.distributed says."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        count = x.shape[0] // dist.get_world_size()
        return self.linear(x[dist.get_rank() * count:][:count]) + dist.get_rank()


class Part(nn.Module):
    """The same by an attribute."""

    def __init__(self, rank):
        super().__init__()
        self.linear, self.rank = nn.Linear(6, 6), rank

    def forward(self, x):
        return self.linear(x) * (self.rank + 1)


class Share(nn.Module):
    """By the variables that a launcher sets."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return self.linear(x) * int(os.environ["RANK"]) + int(os.environ.get("WORLD_SIZE", "1"))


class Same(nn.Module):
    """Depends on no rank."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))

    def forward(self, x):
        return self.layers(x)


def infer(model, compile):
    x = torch.randn(ROWS, 6, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        result = compile(model)(x).clone()
    dist.all_reduce(result)
    return result


def train(model, compile):
    """Two steps of data-parallel training; the weights after them."""
    model = copy.deepcopy(model)
    replica = nn.parallel.DistributedDataParallel(model)
    compiled = compile(replica)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(ROWS, 6, generator=torch.Generator().manual_seed(2 + dist.get_rank()))
    for _ in range(2):
        optimizer.zero_grad()
        compiled(x).square().mean().backward()
        optimizer.step()
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


PROGRAMS = {
    "shard": (infer, lambda rank: Shard()), "part": (infer, Part), "share": (infer, lambda rank: Share()),
    "same": (infer, lambda rank: Same()), "train": (train, lambda rank: Same())}


def main(rank, ranks, path):
    rank, ranks = int(rank), int(ranks)
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks))
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=ranks)
    results = {}
    for name, (run, make) in PROGRAMS.items():
        torch.manual_seed(0)
        model = make(rank)
        expected = run(model, lambda function: function)
        before = stoker.counters()
        actual = run(model, lambda function: torch.compile(function, backend="stoker"))
        hits = stoker.counters().get("captures.hit", 0) - before.get("captures.hit", 0)
        results[name] = {"error": (actual - expected).abs().max().item(), "hits": hits}
    dist.barrier()
    print(json.dumps(results), flush=True)
    os._exit(0)  # How process groups come to their end is not what is tested.


if __name__ == "__main__":
    main(*sys.argv[1:])
