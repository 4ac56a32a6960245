"""A small BERT called with sequences of several lengths: prints one JSON line.

usage: sizes_job.py LENGTH...
"""

import json
import sys

import torch
from job import build
from torch._dynamo.utils import counters

import stoker


def main(lengths):
    model, _ = build("bert", 0, 64, 1)
    model.eval()
    compiled = torch.compile(model, backend="stoker", dynamic=True)
    torch.manual_seed(1)
    errors = {}
    with torch.no_grad():
        for length in lengths:
            tokens = torch.randint(0, 1000, (1, length))
            mask = torch.ones_like(tokens)
            mask[:, length - length // 3:] = 0
            expected = model(tokens, attention_mask=mask).last_hidden_state
            actual = compiled(tokens, attention_mask=mask).last_hidden_state
            errors[length] = (actual - expected).abs().max().item()
    print(json.dumps({
        "errors": errors, "counters": stoker.counters(), "fallbacks": stoker.fallback_ops(),
        "traced": dict(counters["frames"]),
        "programs": [
            {"captured": compile.get("captured", False), "segments": compile["segments"], "sources": compile["sources"]}
            for compile in stoker.compiles()]}))


if __name__ == "__main__":
    main(list(map(int, sys.argv[1:])))
