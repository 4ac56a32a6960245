"""A table of ways to call a compiled function, each beside eager PyTorch; prints {row: what differs}.

A row makes a fresh function and gives the arguments of successive calls. Compared are results (values,
dtypes, strides, structure), what became of the arguments, and which results alias which arguments.
"""

import collections
import copy
import dataclasses
import json
import logging
import sys
import traceback

import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

ROWS = {}


def row(name, make, *calls, **settings):
    """make() gives the function; a call is a tuple of arguments, with a dict of keywords at its end if any.
    Settings: dynamic, mark (the first argument's first dim as dynamic), grad (run with autograd), error (the
    exception that eager raises in some calls), tolerance."""
    assert name not in ROWS
    ROWS[name] = (make, calls, settings)


def rand(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape, generator=generator).to(dtype)


class Keywords(dict):
    """The keywords of a call."""


pytree.register_pytree_node(
    Keywords, lambda given: (list(given.values()), list(given)),
    lambda values, names: Keywords(zip(names, values)))


@dataclasses.dataclass
class Both:
    first: torch.Tensor
    second: torch.Tensor


Pair = collections.namedtuple("Pair", "first second")
pytree.register_pytree_node(
    Both, lambda both: ([both.first, both.second], None), lambda items, _: Both(*items))


# ---- How inputs lie -------------------------------------------------------------------------------

X = rand(4, 6)


def softmaxed(x):
    return (x * 2 + 1).softmax(-1)


for name, x in {
        "transposed": X.t(), "every second column": X[:, ::2], "columns": X[:, 1:4], "last rows": X[2:],
        "expanded": X[:1].expand(4, 6), "expanded scalar": torch.tensor(3.0).expand(3, 2),
        "permuted": rand(2, 3, 4).permute(2, 0, 1), "flipped": X.flip(0), "diagonal": X.diagonal(),
        "overlapping": torch.arange(10.0).as_strided((4, 3), (1, 2)), "scalar": torch.tensor(1.5),
        "unsqueezed": X[:, None, :, None], "one of one": rand(1, 1).t(),
        "channels last": rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "offset": torch.arange(13.0)[1:].view(3, 4)}.items():
    row(f"lies {name}", lambda: lambda x: (softmaxed(x) if x.dim() else x + 1, x * 2), (x,))
    row(f"lies {name}, copied", lambda: lambda x: (x.clone(), x.contiguous() + 0), (x,))
row("lies otherwise in each call", lambda: softmaxed, (rand(4, 4),), (rand(4, 4).t(),), (rand(8, 4)[::2],))
row("conv channels last", lambda: torch.nn.Conv2d(3, 8, 3).eval(),
    (rand(2, 3, 8, 8).to(memory_format=torch.channels_last),), (rand(2, 3, 8, 8),))

# ---- Types ----------------------------------------------------------------------------------------

for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
              torch.int8, torch.uint8, torch.bool):
    x = rand(3, 5, dtype=dtype)
    row(f"{dtype}", lambda: lambda x: (x + x, x > 0, x.sum(0), x.float() * 2), (x,))
    row(f"{dtype} matmul", lambda: lambda x: x.double() @ x.double().t(), (x,))
row("integers wrap around", lambda: lambda x: (x * 100, x + 100), (torch.full((3,), 100, dtype=torch.int8),))
row("complex", lambda: lambda x: torch.view_as_real(torch.view_as_complex(x) * 1j) + 1, (rand(3, 2),))
row("mixed types", lambda: lambda x, y: (x + y, x * 0.5, y / 2), (rand(3), rand(3, dtype=torch.int32)))
Z = torch.complex(rand(4), rand(4))
for name, x in {"imaginary part of a conjugate": Z.conj().imag, "one": Z[1].conj().imag,
                "negated": torch._neg_view(rand(3, 5)), "negated, transposed": torch._neg_view(rand(3, 5)).t()}.items():
    row(f"lies {name}", lambda: lambda x: (x * 2, x + 1, x.sum()), (x,))
row("conjugate inside", lambda: lambda z: (z.conj().imag * 2, z.conj().imag, z.conj() * 1), (Z,), (Z.clone(),))
row("conjugate inside, gradient", lambda: lambda a, b: (torch.complex(a, b).conj().imag * 2).sum(),
    (rand(3).requires_grad_(), rand(3).requires_grad_()), grad=True)
row("bool mask", lambda: lambda x, m: (torch.where(m, x, 0.0), x.masked_fill(m, -1), m & ~m),
    (rand(4, 4), rand(4, 4, dtype=torch.bool)))
row("indices", lambda: lambda x, i: (x[i], x.gather(0, i[:, None]), F.one_hot(i, 6)),
    (X, torch.tensor([0, 3, 1, 1])))

# ---- Arguments ------------------------------------------------------------------------------------

row("keywords", lambda: lambda x, *, scale, bias=None: x * scale if bias is None else x * scale + bias,
    (X, Keywords(scale=rand(6))), (X, Keywords(scale=rand(6), bias=rand(4, 1))))
row("any keywords", lambda: lambda **k: k["a"] + k["b"] * 2, (Keywords(b=rand(3), a=rand(3)),))
row("dictionary", lambda: lambda d: {"sum": d["a"] + d["b"][0], "n": len(d)},
    ({"a": rand(3), "b": [rand(3)]},))
row("nested lists", lambda: lambda xs: [x + i for i, x in enumerate(xs)], ([rand(2), rand(3)],))
row("flag", lambda: lambda x, on: x + 1 if on else x - 1, (X, True), (X, False))
row("name", lambda: lambda x, how: getattr(torch, how)(x), (X, "sin"), (X, "cos"))
row("changing integer", lambda: lambda x, n: x * n + n, (X, 1), (X, 2), (X, 3), (X, -7))
row("changing float", lambda: lambda x, a: x * a, (X, 0.5), (X, 0.25), (X, -1.5))
row("nothing for a tensor", lambda: lambda x, y: x + 1 if y is None else x + y, (X, None), (X, X))
row("parameter as argument", lambda: lambda x, w: x @ w, (X, torch.nn.Parameter(rand(6, 2))))
row("no tensor", lambda: lambda n: torch.arange(n) * 2, (5,), (7,))
row("scalar tensor", lambda: lambda x, s: x * s, (X, torch.tensor(2.0)), (X, torch.tensor(3)))

# ---- Results --------------------------------------------------------------------------------------

row("nested results", lambda: lambda x: {"a": [x + 1, (x * 2, None)], "b": 3, "c": "text"}, (X,))
row("named tuple", lambda: lambda x: Pair(x + 1, x.sum()), (X,))
row("dataclass", lambda: lambda x: Both(x + 1, x.sum()), (X,))
row("views of what requires a gradient", lambda: lambda x, w: (w.view(1, 3), w.detach()[1:], x.t(), x + w), (
    rand(3, 3), torch.nn.Parameter(rand(3))), (rand(3, 3).requires_grad_(), torch.nn.Parameter(rand(3))))
def changed_in_place(x):
    y = x * 2
    return y.add_(1), y, (y - 1).sum(0), y[1:]


row("a result changed in place, twice", lambda: changed_in_place, (X,))
for name, dynamic in {"": None, ", dynamic": True}.items():
    row(f"views of an input changed in place{name}", lambda: lambda x: (x.view(-1).mul_(2), x), (
        rand(2, 2),), (rand(2, 4)[:, ::2],), (rand(2, 6)[:, ::2],), (rand(3, 6)[:, ::2],), dynamic=dynamic)
row("nothing", lambda: lambda x: None, (X,))
row("same result twice", lambda: lambda x: (lambda y: (y, y))(x + 1), (X,))
row("nothing to do", lambda: lambda x, y: (x * 1, torch.cat([x, y[:0]]), x + 0), (X, X))
row("equal results", lambda: lambda x: (x + 1, x + 1), (X,))
row("input as result", lambda: lambda x: (x, x + 1), (X,))
row("view of input", lambda: lambda x: (x[1:], x.t(), x.view(-1), x * 2), (X,))
row("view of result", lambda: lambda x: (lambda y: (y, y[0], y.t()))(x + 1), (X,))
row("view of a hidden result", lambda: lambda x: (x + 1).t()[1:], (X,))
row("expanded result", lambda: lambda x: (x.sum(0, keepdim=True) + 1).expand(4, 6), (X,))
row("constant result", lambda: lambda x: (torch.ones(3), torch.tensor([1, 2]), x + 1), (X,))
row("chunks", lambda: lambda x: (x * 2).chunk(3, -1), (X,))
row("sizes", lambda: lambda x: (x.shape, x.numel(), x.dim(), x + 1), (X,))

# ---- In place -------------------------------------------------------------------------------------


def in_place(name, change, *arguments):
    def make():
        def function(*inputs):
            change(*inputs)
            return inputs[0] * 2
        return function

    row(f"in place {name}", make, arguments, arguments)


in_place("add", lambda x: x.add_(1), X)
in_place("row", lambda x: x[0].mul_(3), X)
in_place("item", lambda x: x.__setitem__((1, 2), 5.0), X)
in_place("slice", lambda x: x.__setitem__((slice(None), slice(0, 4, 2)), x[:, 1:3]), X)
in_place("transposed", lambda x: x.t().add_(torch.arange(4.0)), X)
in_place("on a transposed input", lambda x: x.mul_(2), X.t())
in_place("on columns", lambda x: x.mul_(2), X[:, ::2])
in_place("relu", lambda x: F.relu(x, inplace=True), X)
in_place("copy", lambda x, y: x.copy_(y), X, rand(1, 6))
in_place("zero", lambda x: x.zero_(), X)
in_place("fill diagonal", lambda x: x.fill_diagonal_(0), X)
in_place("masked fill", lambda x: x.masked_fill_(x > 0, 9), X)
in_place("index put", lambda x, i: x.index_put_((i,), torch.tensor(1.0), accumulate=True), X, torch.tensor([0, 0, 3]))
in_place("scatter", lambda x, i: x.scatter_(0, i, 7.0), X, torch.tensor([[0, 1], [2, 3]]))
in_place("integer", lambda x: x.add_(1).mul_(2), rand(3, dtype=torch.int32))
in_place("bool", lambda x: x.logical_not_(), rand(3, dtype=torch.bool))
in_place("twice the same input", lambda x, y: x.add_(y), X, X)
in_place("seen through a view", lambda x, y: x.add_(1), X, X[1:])
in_place("both of two views", lambda x, y: (x.add_(1), y.mul_(2)), X[:3], X[1:])
in_place("out", lambda x, y: torch.add(x, 1, out=y), X, torch.empty(4, 6))
in_place("swap", lambda x, y: (lambda t: (x.copy_(y), y.copy_(t)))(x.clone()), rand(3), rand(3) + 1)
row("two inputs that are one", lambda: lambda x, y: x * 2 + y, (X, X), (X, X.clone()), (X, X))
row("overlapping inputs", lambda: lambda x, y: x[:2] + y, (X, X[2:]))


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen += x
        return self.seen * 2


row("in place buffer", Counter, (rand(3),), (rand(3),), (rand(3),))
row("batch norm that learns", lambda: torch.nn.BatchNorm1d(6).train(), (X,), (X,))


def closure():
    state = torch.zeros(3)

    def function(x):
        state.add_(x)
        return state + 1

    return function


row("in place closure", closure, (rand(3),), (rand(3),))

# ---- Empty ----------------------------------------------------------------------------------------

row("empty", lambda: lambda x: (x + 1, x.sum(), x.sum(0), x.softmax(-1), x.t()), (torch.zeros(0, 5),))
row("empty mean", lambda: lambda x: (x.mean(), x.prod(), x.any()), (torch.zeros(0),))
row("empty matmul", lambda: lambda x, y: (x @ y, y @ x), (torch.zeros(3, 0), torch.zeros(0, 3)))
row("empty cat", lambda: lambda x, y: torch.cat([x, y]), (torch.zeros(0, 6), X))
row("empty slice", lambda: lambda x: (x[4:], x[:, :0], x[2:2] * 2), (X,))
row("empty linear", lambda: torch.nn.Linear(6, 3), (torch.zeros(0, 6),), (X,))
row("empty conv", lambda: torch.nn.Conv2d(3, 4, 3), (torch.zeros(0, 3, 8, 8),))
row("empty in place", lambda: lambda x: x.add_(1), (torch.zeros(0),))
row("empty embedding", lambda: torch.nn.Embedding(7, 3), (torch.zeros(2, 0, dtype=torch.int64),))

# ---- Where formulas lose digits --------------------------------------------------------------------

EDGE = 1 - torch.arange(1, 40) * 2.0**-24
row("near the edges of inverse hyperbolic functions", lambda: lambda x: (
    torch.atanh(x), torch.atanh(-x), 1e4 * torch.acosh(2 - x), torch.asinh(x - 1)), (EDGE,), tolerance=2e-6)
row("tails of erfc", lambda: lambda x: torch.erfc(x) * torch.exp(x * x), (torch.linspace(0, 20, 41).double(),),
    tolerance=1e-12)
row("large angles", lambda: lambda x: (x.sin(), x.cos(), x.tan()), (10.0 ** torch.linspace(0, 38, 77),), tolerance=1e-5)
row("large angles in f64", lambda: lambda x: (x.sin(), x.cos(), x.tan()),
    (10.0 ** torch.linspace(0, 308, 309, dtype=torch.float64),), tolerance=1e-13)

# ---- Modes ----------------------------------------------------------------------------------------

row("dropout off", lambda: lambda x: F.dropout(x, 0.5, training=False) + 1, (X,))
row("dropout of nothing", lambda: lambda x: F.dropout(x, 0.0, training=True) + 1, (X,))
row("dropout of everything", lambda: lambda x: F.dropout(x, 1.0, training=True) + 1, (X,))
row("dropout", lambda: lambda x: F.dropout(x, 0.5, training=True) + 1, (X,))


def twice_dropped(x):
    return F.dropout(torch.tanh(F.dropout(x * 2, 0.2, True)), 0.3, True)


def kept(function, x, *arguments):
    return checkpoint(function, x, *arguments, use_reentrant=False)


row("dropout beside a checkpoint", lambda: lambda x: kept(twice_dropped, x) * F.dropout(x, 0.5, True),
    (rand(4, 6).requires_grad_(),), grad=True)
row("checkpoints", lambda: lambda x: kept(twice_dropped, kept(twice_dropped, x) + kept(twice_dropped, 3 * x)),
    (rand(4, 6).requires_grad_(),), grad=True)
row("dropout in a checkpoint, as images lie", lambda: lambda x: kept(twice_dropped, x) + F.dropout(x, 0.5, True),
    (rand(2, 3, 4, 5).to(memory_format=torch.channels_last).requires_grad_(),), grad=True)
row("random numbers of sizes in a checkpoint", lambda: lambda x: kept(
    lambda y: torch.rand_like(y * 2) * y.sin() + torch.randn_like(y), x) + F.dropout(x, 0.5, True),
    (rand(4, 6).requires_grad_(),), grad=True)
row("a branch that draws", lambda: lambda x: torch.cond(
    x.sum() > 0, lambda y: y * torch.rand(4, 6), lambda y: y + torch.rand(4, 6), (x * 2,)) + F.dropout(x, 0.5, True), (X,))


@torch.library.custom_op("calls::noisy", mutates_args=())
def noisy(x: torch.Tensor) -> torch.Tensor:
    """Draws, and does not say so."""
    return x + torch.rand(x.shape)


noisy.register_fake(torch.empty_like)
row("an operator that draws and does not say so, before dropout", lambda: lambda x: F.dropout(
    noisy(x * 2).sin(), 0.5, True) + F.dropout(x, 0.5, True), (X,))
row("such an operator after dropout", lambda: lambda x: noisy(F.dropout(x * 2, 0.5, True).sin()).cos(), (X,))
row("such an operator between two", lambda: lambda x: (
    F.dropout(x, 0.5, True) + 1, noisy(x).exp(), torch.rand_like(x) * 2), (X,))
row("random", lambda: lambda x: (torch.rand(3), torch.randn_like(x) + x, x.bernoulli(0.5)), (X.abs(),), (X.abs(),))
row("evaluation", lambda: torch.nn.Sequential(
    torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6), torch.nn.Dropout()).eval(), (X,))
row("inference mode", lambda: torch.inference_mode()(lambda x: softmaxed(x)), (X,))
row("gradients", lambda: lambda x, w: (x @ w).relu(), (rand(3, 4).requires_grad_(), rand(4, 2)), grad=True)
for dtype, near in ((torch.float64, 1e-12), (torch.float32, 1e-6), (torch.bfloat16, 1e-2), (torch.float16, 2e-3)):
    row(f"gradients of logsigmoid, {dtype}", lambda: F.logsigmoid,
        ((10 * rand(5, 7)).to(dtype).requires_grad_(),), grad=True, tolerance=near)
row("gradients inside", lambda: torch.func.grad(lambda x: (x.sin() ** 2).sum()), (X,))
row("vmap", lambda: torch.func.vmap(lambda x, y: (x * y).sum()), (X, X))


def autocast(x, w):
    with torch.autocast("cpu", torch.bfloat16):
        return (x @ w).float() + 1


# What stays inside a kernel is not rounded to bfloat16 on the way.
row("autocast", lambda: autocast, (X, rand(6, 6)), tolerance=2e-2)

# ---- Control flow and graph breaks -----------------------------------------------------------------


def branch(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


row("branch on data", lambda: branch, (torch.ones(3),), (-torch.ones(3),))
row("item", lambda: lambda x: x * x.max().item(), (X,))
row("broken graph", lambda: lambda x: (lambda y: (torch._dynamo.graph_break(), y.softmax(-1)))(x + 1)[1], (X,))
row("sizes by data", lambda: lambda x: (x.nonzero(), x[x > 0] * 2, torch.unique(x)), (X.round(),), (X,))
row("fallback in the middle", lambda: lambda x: torch.fft.rfft(x * 2).abs() + 1, (X,))
row("fallback in place", lambda: lambda x: (torch.fft.rfft(x).abs().t().add_(1), x.add_(1)), (X,))
row("raises", lambda: lambda x, y: x @ y, (X, X), error=RuntimeError)
row("raises between calls that do not", lambda: lambda x, i: x[i] * 2,
    *[(X, torch.tensor([0, i])) for i in (1, 9, 3, -5, -4)], error=IndexError)
row("raises itself", lambda: lambda x: (_ for _ in ()).throw(ValueError("mine")), (X,), error=ValueError)

# ---- Sizes that change ----------------------------------------------------------------------------


def at(*sizes):
    return [(rand(size, 6),) for size in sizes]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))

    def forward(self, x):
        y = self.inner(x)
        return y.softmax(-1).sum(0) / x.shape[0], y.view(2, -1) if x.shape[0] % 2 == 0 else y


for dynamic in (None, True, False):
    named = {None: "automatic", True: "dynamic", False: "static"}[dynamic]
    row(f"sizes {named}", Model, *at(4, 6, 3, 1, 0, 2, 4, 5), dynamic=dynamic)
    row(f"sizes {named}, reshaped", lambda: lambda x: x.view(-1, 3).t() @ x.view(-1, 3), *at(2, 5, 8, 1), dynamic=dynamic)
    row(f"sizes {named}, two", lambda: lambda x, y: torch.cat([x, y]).cumsum(0)[: x.shape[0] + 1],
        *[(rand(a, 3), rand(b, 3)) for a, b in ((2, 3), (3, 3), (5, 2), (2, 2))], dynamic=dynamic)
    row(f"sizes {named}, as numbers", lambda: lambda x: torch.arange(x.shape[0]) * x.shape[1] + x.numel(),
        *at(2, 3, 7), dynamic=dynamic)
    row(f"sizes {named}, in place", lambda: lambda x: x.add_(x.shape[0]), *at(2, 3, 7), dynamic=dynamic)
    row(f"sizes {named}, many", lambda: softmaxed, *at(*range(2, 16)), dynamic=dynamic)


row("sizes marked", Model, *at(4, 6, 3, 8), mark=True)
row("sizes marked, as numbers", lambda: lambda x: (x + x.shape[0], x.shape[0] * 2, x[1:]), *at(4, 6, 3), mark=True)
row("sizes marked, attention", lambda: lambda x: F.scaled_dot_product_attention(
    x.view(1, 2, -1, 3), x.view(1, 2, -1, 3), x.view(1, 2, -1, 3), is_causal=True), *at(4, 6, 3, 8), mark=True)
row("sizes marked, gradients", lambda: lambda x, w: (x @ w).relu(),
    *[(rand(n, 4).requires_grad_(), rand(4, 2)) for n in (3, 5, 2)], mark=True, grad=True)

# ---- The comparison -------------------------------------------------------------------------------


def twin_of(call):
    """A call with memory of its own, whose arguments alias each other as the given ones do."""
    def negated(given, twin):  # A copy does not stand for its negative any more.
        return torch._neg_view(-twin) if isinstance(given, torch.Tensor) and given.is_neg() else twin

    return pytree.tree_map(negated, call, copy.deepcopy(call))


def storages(tree):
    return [x.untyped_storage().data_ptr() if x.numel() else None
            for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def sharing(call, result):
    """For every tensor, the first one that it shares memory with."""
    found = storages((call, result))
    return [None if x is None else found.index(x) for x in found]


def difference(expected, actual, tolerance=None):
    """What differs between two trees, or None."""
    expected, expected_form = pytree.tree_flatten(expected)
    actual, actual_form = pytree.tree_flatten(actual)
    if expected_form != actual_form:
        return f"the structure is {actual_form} instead of {expected_form}"
    for place, (x, y) in enumerate(zip(expected, actual)):
        if not isinstance(x, torch.Tensor):
            if x != y:
                return f"{place}: {y!r} instead of {x!r}"
            continue
        for what in ("dtype", "shape", "requires_grad"):
            if getattr(x, what) != getattr(y, what):
                return f"{place}: {what} {getattr(y, what)} instead of {getattr(x, what)}"
        if x.numel() > 1 and x.stride() != y.stride():
            return f"{place}: strides {y.stride()} instead of {x.stride()}"
        near = tolerance or {torch.float32: 2e-5, torch.float64: 1e-10}.get(x.dtype, 2e-2)
        if x.dtype.is_floating_point:
            same = torch.allclose(x, y, rtol=near, atol=near, equal_nan=True)
        else:
            same = torch.equal(x, y)
        if not same:
            return f"{place}: {y.detach()} instead of {x.detach()}"
    return None


def outcome(function, call, settings):
    """(result, gradients, the generator's state after it) of one call."""
    arguments, keywords = call, {}
    if call and isinstance(call[-1], Keywords):
        arguments, keywords = call[:-1], call[-1]
    torch.manual_seed(0)
    if not settings.get("grad"):
        with torch.no_grad():
            return function(*arguments, **keywords), (), torch.get_rng_state()
    result = function(*arguments, **keywords)
    result.sum().backward()
    return result, [x.grad for x in arguments if x.requires_grad], torch.get_rng_state()


def raises(error, function, call, settings):
    try:
        outcome(function, call, settings)
    except error:
        return True
    return False


def check(make, calls, settings):
    """What differs first, or None."""
    torch.manual_seed(1)
    eager = make()
    torch.manual_seed(1)
    compiled = torch.compile(make(), backend="stoker", dynamic=settings.get("dynamic"))
    for number, call in enumerate(calls):
        one, other = twin_of(call), twin_of(call)
        if settings.get("mark"):
            torch._dynamo.mark_dynamic(other[0], 0)
        if error := settings.get("error"):
            if not raises(error, eager, one, settings):
                if raises(error, compiled, other, settings):
                    return f"call {number}: {error.__name__}"
                one, other = twin_of(call), twin_of(call)
            elif raises(error, compiled, other, settings):
                continue
            else:
                return f"call {number}: no {error.__name__}"
        expected, actual = outcome(eager, one, settings), outcome(compiled, other, settings)
        found = (
            difference(expected, actual, settings.get("tolerance")) or difference(one, other)
            or (None if sharing(one, expected) == sharing(other, actual) else "aliasing differs"))
        if found:
            return f"call {number}: {found}"
    return None


def main():
    chosen = sys.argv[1:] or list(ROWS)
    messages = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger("stoker").addHandler(handler)
    failures = {}
    for name in chosen:
        torch._dynamo.reset()
        try:
            found = check(*ROWS[name])
        except Exception:
            found = traceback.format_exc(limit=-3)
        if found:
            failures[name] = found
    import stoker

    print(json.dumps({
        "rows": len(chosen), "failures": failures, "warnings": messages,
        "counters": stoker.counters(), "fallback_ops": stoker.fallback_ops()}))


if __name__ == "__main__":
    main()
