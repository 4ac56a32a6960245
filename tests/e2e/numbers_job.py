"""Functions of numbers that no type holds, that 64 bits do not, or that nothing is divided by, beside eager: prints one JSON line."""

import json

import torch

import stoker

TYPES = (torch.int32, torch.uint8, torch.float16)
NUMBERS = (3, 2**31, 2**40 + 5, 7, 2**31 - 1, 2**31 + 6, 70000, 300)
CONVERTED = (
    lambda x, n, dtype: torch.full((2,), n, dtype=dtype) * 2,
    lambda x, n, dtype: x.to(dtype).masked_fill(x > 0, n),
    lambda x, n, dtype: torch.full((2,), 5 - n, dtype=dtype) * 2)
COMPUTED = (
    (lambda x, n: x * (100 // n), (3, 5, 0, 7)),
    (lambda x, n: x * ((n * n) % 1000003), (3, 5, 2**40, 7)),
    (lambda x, n: x * (n * x.shape[1] - 3), (3, 5, 2**62, 7)),
    (lambda x, n: x * n + (n - 3) // 2, (5, 1 << 24, 1 << 40, (1 << 53) - 1, 12)))


def given(function, *arguments):
    try:
        return function(*arguments)
    except (RuntimeError, ArithmeticError) as error:
        return "raises" if isinstance(error, RuntimeError) else type(error).__name__


def differ(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return one != other
    return not torch.allclose(one, other, rtol=1e-6)


def main():
    x, wrong = torch.linspace(-2, 2, 24, dtype=torch.float64).view(4, 6), []
    for place, function in enumerate(CONVERTED):
        for dtype in TYPES:
            compiled = torch.compile(lambda x, n, f=function, dtype=dtype: f(x, n, dtype), backend="stoker", dynamic=True)
            wrong += [
                (place, str(dtype), n) for n in NUMBERS if differ(given(compiled, x, n), given(function, x, n, dtype))]
    eager = stoker.counters().get("graphs_eager", 0)
    for place, (function, numbers) in enumerate(COMPUTED):
        compiled = torch.compile(function, backend="stoker", dynamic=True)
        wrong += [(place, n) for n in numbers if differ(given(compiled, x, n), given(function, x, n))]
    print(json.dumps({"wrong": wrong, "lost": stoker.counters().get("graphs_eager", 0) - eager}))


if __name__ == "__main__":
    main()
