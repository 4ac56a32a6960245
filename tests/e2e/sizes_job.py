"""A small BERT, given what is padding, or GPT-2, called with sequences of several lengths, or trained by them: prints one JSON
line.

usage: sizes_job.py bert|gpt2 [train] LENGTH...
"""

import json
import sys

import torch
from job import build
from torch._dynamo.utils import counters

import stoker


def computed(called, model, tokens, given, is_training):
    """What it gives, and its gradients."""
    with torch.set_grad_enabled(is_training):
        result = called(tokens, **given)[0]
    if not is_training:
        return [result]
    model.zero_grad()
    (result - 1).square().mean().backward()
    gradients = (torch.zeros_like(each) if each.grad is None else each.grad for each in model.parameters())
    return [result.detach(), *gradients]


def main(name, is_training, lengths):
    model, _ = build(name, 0, 64, 1)
    model.eval()  # Without dropout.
    compiled = torch.compile(model, backend="stoker", dynamic=True)
    torch.manual_seed(1)
    errors = {}
    for length in lengths:
        tokens = torch.randint(0, 1000, (2 if is_training else 1, length))
        mask = torch.ones_like(tokens)
        mask[:, length - length // 3:] = 0
        given = {"attention_mask": mask} if name == "bert" else {}
        expected, actual = (computed(called, model, tokens, given, is_training) for called in (model, compiled))
        errors[length] = max((x - y).abs().max().item() for x, y in zip(actual, expected, strict=True))
    print(json.dumps({
        "errors": errors, "counters": stoker.counters(), "fallbacks": stoker.fallback_ops(),
        "traced": dict(counters["frames"]),
        "programs": [
            {"captured": compile.get("captured", False), "segments": compile["segments"], "sources": compile["sources"]}
            for compile in stoker.compiles()]}))


if __name__ == "__main__":
    name, *lengths = sys.argv[1:]
    main(name, "train" in lengths, [int(length) for length in lengths if length != "train"])
