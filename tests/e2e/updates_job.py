"""Functions that change their inputs in place, beside eager PyTorch. Argument: a scenario. Prints {"wrong": [...],
"updates": what compiles() say, "labels": launches of the last call, "bytes": what they move, "counters": ...}."""

import copy
import json
import sys

import numpy as np
import torch

import stoker

wrong = []
labels, moved = [], []


def check(what, actual, expected, tolerance=0.0):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        wrong.append(f"{what}: {actual.dtype} {list(actual.shape)}")
    elif not torch.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        wrong.append(f"{what}: off by {(actual.double() - expected.double()).abs().max().item()}")


def compiled(function, **settings):
    return torch.compile(function, backend="stoker", **settings)


def beside_eager(what, function, make, calls=3, tolerance=2e-5, **settings):
    """Calls with the same inputs, which change from call to call; versions rise as they do in eager."""
    torch._dynamo.reset()
    run = compiled(function, **settings)
    mine, its = make(), make()
    for number in range(calls):
        expected, given = function(*its), run(*mine)
        for one, other in zip((*mine, *results_of(given)), (*its, *results_of(expected))):
            check(f"{what} {number}", one, other, tolerance)
        for one, other in zip(mine, its):
            if (one._version > 0) != (other._version > 0):
                wrong.append(f"{what} {number}: version {one._version}, in eager {other._version}")
    profile(lambda: run(*mine))
    return run


def results_of(value):
    return value if isinstance(value, tuple) else () if value is None else (value,)


def profile(call):
    with stoker.profile() as launches:
        call()
    labels[:] = [launch["label"] for launch in launches]
    moved[:] = [launch["bytes"] for launch in launches]


def run_batch_norm():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 3),
        torch.nn.BatchNorm2d(4, momentum=0.3))
    other = copy.deepcopy(model)
    function = compiled(model)
    for step in range(4):
        x = torch.randn(4, 3, 12, 12)
        for module, run in ((other, other), (model, function)):
            module.zero_grad()
            run(x).square().sum().backward()
        for (name, buffer), expected in zip(model.named_buffers(), other.buffers()):
            check(f"{name} {step}", buffer, expected, 1e-5)
            if buffer._version < expected._version:
                wrong.append(f"{name} {step}: version {buffer._version}, in eager {expected._version}")
        for (name, parameter), expected in zip(model.named_parameters(), other.parameters()):
            check(f"gradient of {name} {step}", parameter.grad, expected.grad, 1e-3)
    profile(lambda: function(torch.randn(4, 3, 12, 12)))


def adam(parameters, gradients, means, squares, step):
    for p, g, m, v in zip(parameters, gradients, means, squares):
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.99).addcmul_(g, g, value=0.01)
        p.sub_(0.1 * m / (v.sqrt() + 1e-8))
    step.add_(1)


def run_optimizer():
    sizes = [(33, 17), (5,), (2, 3, 4), (1000,)]

    def states():
        torch.manual_seed(1)
        parameters = [torch.randn(size, requires_grad=True) for size in sizes]
        return parameters, [torch.zeros(size) for size in sizes], [torch.zeros(size) for size in sizes], torch.zeros(())

    function = compiled(adam)
    mine, its = states(), states()
    for number in range(4):
        gradients = [torch.randn(size) for size in sizes]
        with torch.no_grad():
            for (parameters, means, squares, step), run in ((mine, function), (its, adam)):
                run(parameters, gradients, means, squares, step)
        for kind, one, other in zip(("p", "m", "v"), mine, its):
            for place, (mine_one, its_one) in enumerate(zip(one, other)):
                check(f"{kind}{place} {number}", mine_one.detach(), its_one.detach(), 1e-5)
        check(f"step {number}", mine[3], its[3])
    with torch.no_grad():
        profile(lambda: function(mine[0], gradients, *mine[1:]))


def decode(keys, values, place, k, v, q):
    keys.index_copy_(2, place, k)
    values.index_copy_(2, place, v)
    return torch.nn.functional.scaled_dot_product_attention(q, keys, values)


def run_cache():
    """One row of a cache at a time; batches of any size."""
    function = compiled(decode)
    for batch in (1, 2, 3):
        torch.manual_seed(batch)
        mine = [torch.zeros(batch, 4, 64, 16) for _ in range(2)]
        its = [torch.zeros(batch, 4, 64, 16) for _ in range(2)]
        with torch.no_grad():
            for place in (0, 1, 2, 63):
                rows = [torch.randn(batch, 4, 1, 16) for _ in range(3)]
                place = torch.tensor([place])
                check(f"attention {batch}", function(*mine, place, *rows), decode(*its, place, *rows), 1e-5)
                for one, other in zip(mine, its):
                    check(f"cache {batch}", one, other)
                    if one._version != other._version:
                        wrong.append(f"version {one._version}, in eager {other._version}")
    with torch.no_grad():
        profile(lambda: function(*mine, place, *rows))


def assigned(cache, place, rows):
    cache[:, place] = rows


def sliced(cache, row):
    cache[:, 5:6] = row
    cache[2] = 1.0


def run_assignment():
    def make():
        torch.manual_seed(2)
        return torch.randn(3, 500, 16), torch.tensor([7, 2]), torch.randn(3, 2, 16)

    beside_eager("index", assigned, make)
    beside_eager("slice", sliced, lambda: (make()[0], make()[2][:, :1]))


def run_aliases():
    """What else refers to the memory of an input that changes."""
    def make():
        torch.manual_seed(3)
        return torch.randn(6, 6), torch.randn(6, 6)

    def keeps_old(x, y):
        old = x.clone()
        x.add_(y)
        return old, x.sum()

    def returns_it(x, y):
        x.mul_(y)
        return x, x[0], x.t()

    def gives_value_twice(x, y):
        z = x * y
        x.copy_(z)
        return z, z[1:]

    def swaps(x, y):
        z = x.clone()
        x.copy_(y.t())
        y.copy_(z.t())

    def reads_later(x, y):
        before = x @ y
        x.copy_(y)
        return x @ before

    def transposed(x, y):
        x.t().add_(y)

    def overwrites(x, y):
        x.copy_(y.exp())

    def by_columns(x, y):
        x.sub_(x.sum(0)).add_(y)

    for function in (keeps_old, returns_it, gives_value_twice, swaps, reads_later, transposed, overwrites, by_columns):
        beside_eager(function.__name__, function, make)
        beside_eager(
            f"{function.__name__} of transposed", function, lambda: tuple(x.t() for x in make()))
        beside_eager(
            f"{function.__name__} with gaps", function, lambda: (torch.randn(6, 12).fill_(2)[:, ::2], make()[1]))
        beside_eager(f"{function.__name__}, verified", function, make, options={"verify": True})


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None


def run_bounds():
    """An index out of bounds raises; what comes before it is done, and what comes after it is not."""
    def after(x, table, place):
        row = table[place]
        x.add_(1)
        return row

    def after_row(x, table, place):
        row = table[place]
        x[1:2] = 5.0
        return row

    def before(x, table, place):
        x.add_(1)
        return table[place]

    for function in (after, after_row, before):
        torch._dynamo.reset()
        run = compiled(function)
        mine, its, table = torch.zeros(4), torch.zeros(4), torch.randn(9, 3)
        for place in (3, 9, -1, 8):
            place = torch.tensor([place])
            versions = mine._version, its._version
            errors = raised(lambda: run(mine, table, place)), raised(lambda: function(its, table, place))
            if (errors[0] is None) != (errors[1] is None):
                wrong.append(f"{function.__name__}: raised {errors[0]}, in eager {errors[1]}")
            check(f"{function.__name__} at {place.item()}", mine, its)
            if mine._version == versions[0] and its._version > versions[1]:
                wrong.append(f"{function.__name__} at {place.item()}: the version has not risen")


def run_autograd():
    """A tensor that autograd keeps must not change in place unseen."""
    def change(x):
        x.mul_(2)

    function = compiled(change)
    for run in (change, function):
        weight, x = torch.ones(3, requires_grad=True), torch.ones(3)
        loss = (weight * x).sum()
        run(x)
        if raised(loss.backward) != "RuntimeError":
            wrong.append("a kept tensor changed unseen")

    def scaled(x, weight, state):
        state.copy_(x)
        return (x * weight).sum()

    beside = compiled(scaled)
    mine, its = ([torch.randn(5, generator=torch.Generator().manual_seed(4)) for _ in range(2)] for _ in range(2))
    for number in range(3):
        gradients = []
        for run, (x, state) in ((beside, mine), (scaled, its)):
            weight = torch.full((5,), 1.5, requires_grad=True)
            run(x + number, weight, state).backward()
            gradients.append(weight.grad)
        check("gradient", *gradients)
        check("state", mine[1], its[1])

    def halved(state, weight):
        state.mul_(0.5)
        return weight.abs()

    # Autograd shows what a function returns of its inputs by views, in which dims of one element may lie otherwise.
    for order in ((2, 1, 0), (1, 0, 2), (0, 1, 2)):
        weight, state = torch.ones(3, requires_grad=True), torch.ones(4, 1, 2).permute(order)
        compiled(halved)(state, weight).sum().backward()
        check(f"state of dims {order}", state, torch.full_like(state, 0.5))


def run_sizes():
    """Sizes that vary."""
    def step(x, i, u):
        x.index_add_(0, i, u)
        x.mul_(0.5)

    function = compiled(step, dynamic=True)
    for rows, count in ((7, 3), (100, 64), (33, 1), (8, 8)):
        torch.manual_seed(rows)
        mine = torch.randn(rows, 20)
        its = mine.clone()
        place, update = torch.randint(0, rows, (count,)), torch.randn(count, 20)
        for run, x in ((function, mine), (step, its)):
            run(x, place, update)
        check(f"{rows} rows, {count} updates", mine, its, 1e-5)


VIEWS = {
    "rows": lambda x: x[1:], "a column": lambda x: x[:, 0], "transposed": lambda x: x.t(), "as one dim": lambda x: x.view(-1),
    "one more dim": lambda x: x.unsqueeze(0), "detached": lambda x: x.detach(), "itself": lambda x: x,
    "strided": lambda x: x.as_strided((2, 2), (1, 2))}


def run_views():
    """Results that show an input that changes, which lies behind the beginning of its storage: at one place, then at others."""
    for name, view in VIEWS.items():
        def function(x, w, view=view):
            x.add_(1)
            return view(x), w * 2

        torch._dynamo.reset()
        run, weight = compiled(function), torch.ones(3)
        for first in (2, 3, 0, 1):
            mine, its = (torch.arange(24.0).view(8, 3) for _ in range(2))
            (found, _), (expected, _) = run(mine[first:first + 4], weight), function(its[first:first + 4], weight)
            check(f"{name} from row {first}", found, expected)
            found.mul_(3), expected.mul_(3)  # It is the input's memory.
            check(f"memory of {name} from row {first}", mine, its)


def run_views_in_training():
    for name, view in VIEWS.items():
        def function(x, w, view=view):
            with torch.no_grad():
                x.add_(1)
            return view(x), (w * x).sum()

        torch._dynamo.reset()
        run = compiled(function)
        for first in (2, 0):
            weights = [torch.ones(3, requires_grad=True) for _ in range(2)]
            mine, its = (torch.arange(24.0).view(8, 3) for _ in range(2))
            (found, loss), (expected, other) = run(mine[first:first + 4], weights[0]), function(its[first:first + 4], weights[1])
            loss.backward(), other.backward()
            check(f"{name} from row {first}", found, expected)
            check(f"gradient beside {name} from row {first}", weights[0].grad, weights[1].grad)


def run_memory():
    """Inputs that come to lie in what a module holds, and storages that are two over one memory."""
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2, bias=False)
            torch.nn.init.ones_(self.linear.weight)

        def forward(self, x):
            x.add_(1)
            return self.linear(x)

    def added(x, y):
        x.mul_(2)
        return x + y

    mine, its = Layer(), Layer()
    run = compiled(mine)
    for number in range(3):
        check(f"apart {number}", run(torch.zeros(2, 2)), its(torch.zeros(2, 2)))
        check(f"the weight {number}", run(mine.linear.weight.detach()), its(its.linear.weight.detach()), 1e-5)
    run = compiled(added)
    for number in range(3):
        check(f"added {number}", run(torch.ones(2), torch.ones(2)), torch.full((2,), 3.0))
        memory, other = np.ones(2, "f"), np.ones(2, "f")
        check(f"of one array {number}", run(torch.from_numpy(memory), torch.from_numpy(memory)),
              added(torch.from_numpy(other), torch.from_numpy(other)))
        check(f"half of an array {number}", run(torch.from_numpy(memory[:1]), torch.from_numpy(memory[1:])),
              added(torch.from_numpy(other[:1]), torch.from_numpy(other[1:])))


def shown(x, y):
    x.add_(1)
    return x[1:2], x.t(), y.sum()


def run_memory_that_parts():
    """Inputs that share memory in some calls: in the first or in later ones; gradients that are parameters for a step."""
    for order in ("apart", "shared", "apart shared apart", "shared apart shared", "numpy apart numpy"):
        torch._dynamo.reset()
        run = compiled(shown, dynamic=False)
        for number, how in enumerate(order.split() * 2):
            results = []
            for function in (run, shown):
                memory = torch.arange(18.0).view(6, 3)
                x, y = torch.arange(12.0).view(4, 3), memory
                if how == "shared":
                    x = memory[1:5]
                elif how == "numpy":
                    x = torch.from_numpy(memory.numpy()[1:5])
                results.append([*function(x, y), x, memory])
            for found, expected in zip(*results):
                check(f"{order}: {number}", found, expected)
    for name, make in {
            "SGD": lambda p: torch.optim.SGD(p, lr=0.1), "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=False),
            "Adam": lambda p: torch.optim.Adam(p, lr=0.1)}.items():
        for steps in ("-a-", "-aa-", "a-", "-d-e-"):
            found = []
            for wrap in (compiled, lambda function: function):
                torch._dynamo.reset()
                torch.manual_seed(3)
                parameters = [torch.nn.Parameter(torch.randn(4, 5)) for _ in range(2)]
                step = wrap(make(parameters).step)
                for kind in steps:
                    for parameter in parameters:
                        parameter.grad = torch.randn(4, 5)
                    if kind == "a":
                        parameters[0].grad = parameters[1].detach()
                    elif kind == "d":
                        parameters[1].data = parameters[0].data
                    elif kind == "e":
                        parameters[1].data = parameters[0].data.clone()
                    step()
                found.append(parameters)
            for number, (mine, its) in enumerate(zip(*found)):
                check(f"{name} {steps} {number}", mine.detach(), its.detach(), 1e-5)


def main():
    scenario = globals()[f"run_{sys.argv[1]}"]
    if scenario in (run_batch_norm, run_autograd, run_views_in_training):
        scenario()
    else:
        with torch.no_grad():
            scenario()
    print(json.dumps({
        "wrong": wrong, "updates": [record["updates"] for record in stoker.compiles()], "labels": labels, "bytes": moved,
        "counters": stoker.counters()}))


main()
