"""Operators of PyTorch inside compiled plans. Prints {"wrong": what went wrong, "segments": {what: how many},
"counters": stoker.counters(), "warnings": [...], "fallbacks": stoker.fallback_ops()}.

usage: host_calls_job.py SCENARIO
"""

import json
import logging
import os
import signal
import sys
import threading

import torch

import stoker

CALLS = 20
WAIT_S = 60
kept = []


class Refused(Exception):
    """An operator's own exception."""


@torch.library.custom_op("host_calls::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:
    kept.append(x)
    if x.isnan().any():
        raise Refused("nothing is tripled that is no number")
    return x * 3


@tripled.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("host_calls::widened", mutates_args=())
def widened(x: torch.Tensor) -> torch.Tensor:
    return x.double()  # Not what its fake says.


@widened.register_fake
def _(x):
    return torch.empty_like(x)


class Network(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.call = call

    def forward(self, x):
        return self.second(self.call(torch.tanh(self.first(x)))).sin()


def matrix_exp(x):
    return torch.linalg.matrix_exp(x / 8)


def draws(x):
    return torch.bernoulli(torch.sigmoid(x)) * 2 + torch.poisson(x.t() * x.t() + 1).t()


wrong = []


def check(what, found, expected, tolerance=1e-5):
    found, expected = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (found, expected))
    for a, b in zip(found, expected, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape or not torch.allclose(a, b, atol=tolerance, equal_nan=True):
            wrong.append(what)


def compiled(model):
    torch._dynamo.reset()
    return torch.compile(model, backend="stoker")


X = torch.randn(8, 8, generator=torch.Generator().manual_seed(1))


def inference(call):
    model = Network(call).eval()
    function = compiled(model)
    with torch.no_grad():
        for scale in (1, 2, 3):
            torch.manual_seed(scale)
            expected = model(X * scale)
            torch.manual_seed(scale)
            check(f"inference {scale}", function(X * scale), expected)


def run_matrix_exp():
    inference(matrix_exp)


def run_draws():
    inference(draws)


def run_training():
    model, other = Network(matrix_exp), Network(matrix_exp)
    function = compiled(model)
    for scale in (1, 2):
        for each, network in ((function, model), (other, other)):
            network.zero_grad()
            each(X * scale).square().sum().backward()
        for (name, parameter), reference in zip(model.named_parameters(), other.parameters()):
            check(f"gradient of {name}", parameter.grad, reference.grad, 1e-4)


def run_custom():
    model = Network(tripled).eval()
    function = compiled(model)
    with torch.no_grad():
        expected = model(X)
        check("custom", function(X), expected)
        first = kept[-1].clone()
        for _ in range(3):
            function(X * 2)
        check("what an operator keeps stays as it was", kept[1], first)
        try:
            function(X * float("nan"))
            wrong.append("nothing was raised")
        except Refused:
            pass
        check("after an exception", function(X), expected)

        def call_often():
            for _ in range(CALLS):
                with torch.no_grad():
                    check("in threads", function(X), expected)

        threads = [threading.Thread(target=call_often) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with torch.device("meta"):
            check("under another default device", function(X), expected)


def run_lying():
    class Lying(torch.nn.Module):
        def forward(self, x):
            return (widened(x + 1) * 2).sum(0)

    with torch.no_grad():
        function = compiled(Lying())
        for _ in range(2):
            check("another dtype than was traced", function(X), ((X + 1).double() * 2).sum(0))


def run_nested():
    """An operator that calls what it is called from: with other weights, with weights that it has changed, from another
    thread, and while a profile is taken."""
    library = torch.library.Library("host_calls", "FRAGMENT")
    library.define("inner(Tensor x) -> Tensor")
    calls = []
    library.impl("inner", lambda x: calls.pop()(x) if calls else x * 2, "CPU")
    library.impl("inner", torch.empty_like, "Meta")
    models = [Network(torch.ops.host_calls.inner).eval() for _ in range(3)]
    for model in models[1:]:
        model.first.weight.data.mul_(2)
    functions = list(map(compiled, models))

    def expect(what, inner, expected_inner):
        calls[:] = expected_inner
        expected = models[0](X)
        calls[:] = inner
        check(what, functions[0](X), expected)

    def changed(x):
        models[0].first.weight.mul_(0.5)
        return functions[0](x)

    def from_a_thread(x):
        results = []

        def call():
            with torch.no_grad():
                results.append(functions[1](x))

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        return results[0]

    with torch.no_grad():
        expect("plain", [], [])
        expect("other weights inside", functions[1:], models[1:])
        expect("from another thread", [from_a_thread], [models[1]])
        with stoker.profile():
            expect("in a profile", functions[1:], models[1:])
        calls[:] = [changed]
        functions[0](X)
        expect("after weights changed inside", [], [])


def run_forks():
    """An operator that forks whenever it runs, while the first call is compared with the interpreter, too. The child calls
    what it was called from."""
    library = torch.library.Library("host_calls", "FRAGMENT")
    library.define("forks(Tensor x) -> Tensor")
    library.impl("forks", torch.empty_like, "Meta")
    children = []

    def forks(x):
        if os.getpid() != parent:
            return x * 2
        child = os.fork()
        if child == 0:
            signal.alarm(WAIT_S)  # Ends one that waits for what is not there.
            with torch.no_grad():
                os._exit(not torch.allclose(function(X), expected, atol=1e-5))
        children.append(os.waitpid(child, 0)[1])
        return x * 2

    library.impl("forks", forks, "CPU")
    parent = None  # In the reference nobody forks.
    model = Network(torch.ops.host_calls.forks).eval()
    function = torch.compile(model, backend="stoker", options={"verify": True})
    with torch.no_grad():
        expected = model(X)
        parent = os.getpid()
        for _ in range(2):
            check("in the parent", function(X), expected)
    if children != [0, 0, 0]:  # The first call's, the comparison's, and the second call's.
        wrong.append(f"children ended with {children}")


def run_nonsense():
    """As from an artifact that names what this PyTorch does not have."""
    from stoker.lowering import hosting

    call_of = hosting.call_of

    def nonsense(node, results, waits_for):
        call, sources = call_of(node, results, waits_for)
        return call._replace(operator="aten.no_such_operator.default"), sources

    hosting.call_of = nonsense
    inference(matrix_exp)


def main():
    messages = []

    class Keep(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())

    logging.getLogger("stoker").addHandler(Keep(logging.WARNING))
    globals()[f"run_{sys.argv[1]}"]()
    last = stoker.last_compile()
    print(json.dumps({
        "wrong": wrong, "segments": last and last["segments"],
        "counters": stoker.counters(), "warnings": messages, "fallbacks": stoker.fallback_ops()}))


main()
