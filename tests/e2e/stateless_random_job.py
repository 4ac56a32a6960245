"""Draws from keys of torch.func._random in compiled functions, beside eager PyTorch. Prints {"wrong": [...], "fallbacks":
..., "segments": of each graph; "counted": how many graphs seven numbers that are folded in took}."""

import json

import torch
import torch.func._random as random

import stoker

wrong = []


def compiled(function, **settings):
    torch._dynamo.reset()
    return torch.compile(function, backend="stoker", **settings)


def check(what, actual, expected, exact=True):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        wrong.append(f"{what}: {actual.dtype} {list(actual.shape)}")
    elif exact and not torch.equal(actual, expected) or not torch.allclose(actual.double(), expected.double(), 1e-5, 1e-6):
        wrong.append(f"{what}: {actual.flatten()[:4].tolist()} instead of {expected.flatten()[:4].tolist()}")


def dropout(key, x):
    """Of two layers, each with a key of its own."""
    first, second = random.split(key)
    for own in (first, second):
        x = torch.where(random.uniform(own, x.shape) < 0.25, 0.0, x / 0.75)
    return x


def step(key, x):
    key = random.fold_in(key, 7)
    return key, random.bits(key, (x.shape[0], 33)), random.randint(key, (50,), low=-3, high=90, dtype=torch.int64), x + 1


torch.manual_seed(0)
keys = [random.key(42), torch.tensor([2**64 - 1, 2**64 - 3], dtype=torch.uint64)]
for settings in ({}, {"dynamic": True}):
    drop, advance = compiled(dropout, **settings), torch.compile(step, backend="stoker", **settings)
    for rows in (40, 7, 1001):
        x = torch.randn(rows, 64)
        for number, key in enumerate(keys):
            what = f"{settings} {rows} key {number}"
            check(f"dropout {what}", drop(key, x), dropout(key, x))
            for actual, expected in zip(advance(key, x), step(key, x)):
                check(f"step {what}", actual, expected)
normal = compiled(lambda key, x: x + random.normal(key, x.shape))
check("normal", normal(keys[0], x), x + random.normal(keys[0], x.shape), exact=False)
found = {"fallbacks": stoker.fallback_ops(), "segments": [each["segments"] for each in stoker.compiles()]}
# Numbers that are counted up are for one program where a tensor has them; of others PyTorch traces each.
counted = compiled(lambda key, x, number: x * random.uniform(random.fold_in(key, number), x.shape))
for number in torch.arange(7).to(torch.uint64):
    check(f"number {number}", counted(keys[0], x, number), x * random.uniform(random.fold_in(keys[0], number), x.shape))
print(json.dumps({
    "wrong": wrong, **found, "counted": len(stoker.compiles()) - len(found["segments"])}))
