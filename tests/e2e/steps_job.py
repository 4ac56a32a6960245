"""Prints what is otherwise than in eager PyTorch of what compares: [kind, case, dtype, elements that differ, of how many], or
how far gradients are off. Kernels keep 16-bit floats of one kernel in 32 bits; what is compared is what is in memory."""

import json

import torch
from torch.nn import functional as F

ROWS, COLUMNS = 67, 515


def places(p):
    return torch.stack([p.argmax(1), p.argmin(1)]), p.argmax(0)


def both_largest(p):
    return (p == p.amax(0)).float() + (p == p.amax(1, keepdim=True)).float()


# Of p, which a kernel has just computed.
CASES = {
    "largest_of_columns": lambda p: (p == p.amax(0)).float(),
    "largest_of_rows": lambda p: (p == p.amax(1, keepdim=True)).float(),
    "largest": lambda p: (p == p.amax()).float(),
    "both_largest": both_largest,
    "places": places,
    "above": lambda p: (p > 0.5).float() + (p >= p.roll(1, 1)).float(),
    "parts_of_one": lambda p: (p - p.floor() < 0).float() + ((p - p.round()).abs() > 0.5).float(),
    "whole": lambda p: torch.stack([p.floor(), p.ceil(), p.round(), p.trunc(), p.frac(), p % 0.75, p - p.floor()]),
    "divided_whole": lambda p: torch.stack([torch.div(p, 0.3, rounding_mode=mode) for mode in ("floor", "trunc")]),
    "converted": lambda p: (p * 1).long() + (p.float() * 1).floor().long() + p.flip(1)[:, 1:-1].int().sum(),
    "tenths": lambda p: torch.stack([torch.round(p, decimals=1), (p * 4).floor(), (p - 0.5).sign()]),
    "joined": lambda p: torch.cat([p, -p]).floor() + torch.where(p > 0, p, p.abs()).round().repeat(2, 1),
    "least_of_two": lambda p: (torch.minimum(p, p.flip(0)) == p).float(),
}
MADE = {
    "add": lambda x, y: x + y,
    "distance": lambda x, y: (x - y).abs(),
    "sum": lambda x, y: torch.cat([x, y], 1)[:, :COLUMNS] + y,
}
OF_INPUTS = {
    "over_the_largest": lambda x: (x / x.amax(1, keepdim=True)).floor() + (x / x.amin(0)).trunc(),
    "beyond_the_largest": lambda x: (x * 3e4).isfinite().float() + (x * 1e-8).sign(),
}
OVER_SUMS = {
    "divided_whole_by_a_sum": lambda x, y: torch.stack([
        torch.div(y, x.sum(-1, keepdim=True), rounding_mode=mode) for mode in ("floor", "trunc")]),
    "whole_over_a_sum": lambda x, y: (y / x.sum(-1, keepdim=True)).floor() + (y / x.sum(-1, keepdim=True)).long(),
    "seen_elsewhere": lambda x, y: (
        (y / x.sum(-1, keepdim=True))[:, 1:].floor(), (y / x.sum(-1, keepdim=True)).roll(3, 1).abs().long()[:, 1:],
        F.normalize(x, p=1).clamp(0, 1).long()[:, 1:], ((x / x.sum(-1, keepdim=True)) * 255).to(torch.uint8)[:, 1:],
        torch.cat([x, y / x.sum(-1, keepdim=True)], 1).floor()[:, 65:], (y / x.sum(-1, keepdim=True)).sort(-1)[0].floor()[:, 1:],
        torch.pow(-1.0, y / x.sum(-1, keepdim=True)).nan_to_num(7)[:, 1:]),
    "one_over_itself": lambda x, y: (x / x.sum(-1, keepdim=True)).floor() + (x / x.mean(-1, keepdim=True) >= 64),
}
COMPARED = {
    "amax": lambda p: p.amax(1),
    "quantized": lambda p: p / p.abs().amax(-1, keepdim=True),
    "to_the_largest": lambda p: (p - p.amax(-1, keepdim=True)).exp().sum(-1).log(),
    "the_largest_alone": lambda p: p * (p == p.max(-1, keepdim=True)[0]),
    "no_more_than_others": lambda p: torch.minimum(p, p.roll(1, -1)),
}
BEFORE = (torch.sin, torch.sigmoid, torch.tanh)


def tensors(values):
    return values if isinstance(values, tuple) else (values,)


def differing(function, *inputs):
    torch._dynamo.reset()
    found, wanted = tensors(torch.compile(function, backend="stoker")(*inputs)), tensors(function(*inputs))
    return sum((a != b).sum().item() for a, b in zip(found, wanted)), sum(b.numel() for b in wanted)


def units_off():
    """The largest error of quotients over sums of one number each, of every exponent: in the last place of a float, as far as the
    quotient is a normal number."""
    torch._dynamo.reset()
    sums = torch.ldexp(1 + torch.rand(277 * 8), torch.arange(-149, 128).repeat_interleave(8)).clamp(max=torch.finfo(torch.float32).max)
    x = torch.zeros(len(sums), 64)
    x[:, 5] = sums
    y = torch.ldexp(1 + torch.rand(len(sums), 64), torch.randint(-126, 127, (len(sums), 64)))
    found = torch.compile(lambda x, y: y / x.sum(-1, keepdim=True), backend="stoker")(x, y).double()
    exact = y.double() / x.double().sum(-1, keepdim=True)
    is_normal = (exact >= 2.0**-126) & (exact < 2.0**128)
    units = (found - exact).abs() / torch.ldexp(torch.ones_like(exact), torch.frexp(exact).exponent - 24)
    return units[is_normal].max().item()


def units_of_exponentials():
    """The same of an exponential over the sum of its row, which is itself."""
    torch._dynamo.reset()
    x = torch.full((188, 64), float("-inf"))
    x[:, 7] = torch.arange(-100.0, 88.0)
    found = torch.compile(lambda x: x.exp() / x.exp().sum(-1, keepdim=True), backend="stoker")(x)[:, 7]
    return ((found - 1).abs() / 2.0**-24).max().item()


def gradients_off(function, x, weight):
    """How far those of x are off, in relation to their norm."""
    torch._dynamo.reset()
    found = []
    for each in (torch.compile(function, backend="stoker"), function):
        given = x.clone().requires_grad_()
        each(given, weight).float().sum().backward()
        found.append(given.grad.double())
    return ((found[0] - found[1]).norm() / found[1].norm()).item()


def main():
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, y = torch.randn(ROWS, COLUMNS).to(dtype), torch.randn(ROWS, COLUMNS).to(dtype)
        for made, make in MADE.items():
            for name, case in CASES.items():
                count, of = differing(lambda x, y, make=make, case=case: case(make(x, y)), x, y)
                print(json.dumps(["steps", f"{name} of {made}", str(dtype), count, of]))
        for name, case in OF_INPUTS.items():
            print(json.dumps(["steps", name, str(dtype), *differing(case, x)]))
        x, weight = torch.randn(5, 37).to(dtype), (torch.randn(37, 37) / 8).to(dtype)
        for before in BEFORE:
            for name, case in COMPARED.items():
                off = gradients_off(lambda x, w, before=before, case=case: case(before(x @ w)), x, weight)
                print(json.dumps(["gradients", f"{name} of {before.__name__}", str(dtype), off, 1]))


    whole = torch.zeros(64, 64)
    whole[range(64), range(64)] = torch.arange(1.0, 65)
    for name, case in OVER_SUMS.items():
        print(json.dumps(["steps", name, "torch.float32", *differing(case, whole, whole.sum(1) * torch.arange(64.0))]))
    print(json.dumps(["units", "over_a_sum", "torch.float32", units_off(), 0.51]))
    print(json.dumps(["units", "exponentials", "torch.float32", units_of_exponentials(), 1.5]))


if __name__ == "__main__":
    main()
