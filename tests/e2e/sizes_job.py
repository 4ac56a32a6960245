"""A small BERT, given what is padding, or GPT-2, called with sequences of several lengths: prints one JSON line.

usage: sizes_job.py bert|gpt2 LENGTH...
"""

import json
import sys

import torch
from job import build
from torch._dynamo.utils import counters

import stoker


def main(name, lengths):
    model, _ = build(name, 0, 64, 1)
    model.eval()
    compiled = torch.compile(model, backend="stoker", dynamic=True)
    torch.manual_seed(1)
    errors = {}
    with torch.no_grad():
        for length in lengths:
            tokens = torch.randint(0, 1000, (1, length))
            mask = torch.ones_like(tokens)
            mask[:, length - length // 3:] = 0
            given = {"attention_mask": mask} if name == "bert" else {}
            expected, actual = model(tokens, **given)[0], compiled(tokens, **given)[0]
            errors[length] = (actual - expected).abs().max().item()
    print(json.dumps({
        "errors": errors, "counters": stoker.counters(), "fallbacks": stoker.fallback_ops(),
        "traced": dict(counters["frames"]),
        "programs": [
            {"captured": compile.get("captured", False), "segments": compile["segments"], "sources": compile["sources"]}
            for compile in stoker.compiles()]}))


if __name__ == "__main__":
    main(sys.argv[1], list(map(int, sys.argv[2:])))
