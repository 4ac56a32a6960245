"""What test_warm_training.py compiles: each case gives a Trained, made anew at every call."""

import functools
from typing import Any, NamedTuple

import torch
from torch._higher_order_ops import scan
from torch.nn import functional as F
from torch.utils import checkpoint as checkpoints


class Trained(NamedTuple):
    function: Any
    arguments: tuple  # Those that require a gradient are asked for it.
    module: Any = None  # Whose parameters and buffers are looked at.
    options: dict = {}  # Of torch.compile().
    run: Any = None  # run(what is called, arguments) in place of one call: what is compared.
    is_as_eager: bool = True  # Else a cold and a warm process are compared with each other alone.


def _x(*shape, grad=True):
    torch.manual_seed(2)
    return torch.randn(*shape).requires_grad_(grad)


def _of(make):
    torch.manual_seed(0)
    return make().train()


class Blocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = torch.nn.Linear(8, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 5)

    def forward(self, x):
        return self.second(F.gelu(self.norm(self.first(x))))


def statistics():
    module = _of(Blocks)
    return Trained(module, (_x(6, 8),), module)


def images():
    module = _of(lambda: torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(8 * 16, 4)))
    return Trained(module, (_x(2, 3, 8, 8),), module)


def attention():
    module = _of(lambda: torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True))
    return Trained(module, (_x(2, 5, 16),), module)


def several_results():
    def function(x, y):
        z = torch.sin(x) * y
        return {"result": z, "number": 3, "whole": (z > 0).sum(), "detached": z.detach() * 2, "list": [z.exp(), None]}
    return Trained(function, (_x(4, 6), _x(4, 6)))


def views_of_results():
    def function(x):
        y = torch.tanh(x)
        return y, y.t(), y[1:], y.reshape(-1), y.detach()[0]
    return Trained(function, (_x(4, 6),))


def views_of_what_is_not_given():
    def function(x):
        y = torch.tanh(x)
        return y.t(), y[1:, ::2]
    return Trained(function, (_x(4, 6),))


def views_of_inputs():
    def function(x, y):
        return x.t(), x, y[1:], x[0] * y.sum(), x.detach()[0]
    return Trained(function, (_x(4, 6), _x(5, 2)))


def views_of_elements_that_are_one():
    """Of an expanded tensor: what each of its elements gets is not shared among those that lie in one place."""
    def function(x):
        return x[1:], x.t()[1], x.sum()

    def run(called, arguments):
        row, = arguments
        x = row.expand(3, 4)
        given = []
        x.register_hook(given.append)
        first, second, total = called(x)
        ((first * torch.arange(8.0).reshape(2, 4)).sum() + (second * torch.arange(3.0)).sum() + total).backward()
        leaf = torch.ones(4).expand(3, 4).detach().requires_grad_()
        (called(leaf)[0] * torch.arange(8.0).reshape(2, 4)).sum().backward()
        return [first, second, total, *given, row.grad, leaf.grad]
    return Trained(function, (_x(4),), run=run)


def names_of_views():
    """As autograd has them: what is said of a result by name, and how far back its gradient goes."""
    def run(called, arguments):
        results = called(*arguments)
        sum(result.sum() for result in results).backward()
        return [*results, arguments[0].grad, *(result.grad_fn.name() for result in results)]
    return Trained(lambda x: (x.t(), x[0], (y := x.tanh()), y.view(-1), y.t()[1:]), (_x(4, 6),), run=run,
                   is_as_eager=False)


def inputs_in_place():
    def function(x, memory):
        memory.add_(1)
        memory.mul_(x.detach().sum())
        return x * memory
    return Trained(function, (_x(3, 4), _x(3, 4, grad=False)))


def frozen():
    module = _of(Blocks)
    module.first.requires_grad_(False)
    return Trained(module, (_x(6, 8, grad=False),), module)


def tied():
    module = _of(lambda: torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh(), torch.nn.Linear(6, 6)))
    module[2].weight = module[0].weight
    return Trained(module, (_x(3, 6),), module)


def without_a_gradient():
    """Autograd is not to go to where an input comes from that has none."""
    def function(x, y):
        return x * y.detach()

    def run(called, arguments):
        x, y = arguments
        way = y * 2
        way.sum().backward()
        result = called(x, way)
        result.sum().backward()
        return [result, x.grad, y.grad]
    return Trained(function, (_x(4), _x(4)), run=run)


def twice():
    def run(called, arguments):
        x, = arguments
        result = called(x)
        return [*(torch.autograd.grad(result.sum(), x, retain_graph=True)[0] for _ in range(2)),
                *(torch.autograd.grad(result[1:].square().sum(), x)[0] for _ in range(1))]
    return Trained(lambda x: torch.tanh(x) * x.exp(), (_x(4, 6),), run=run)


def steps():
    """Forward passes before their backward passes, and calls without gradients between."""
    module = _of(Blocks)

    def run(called, arguments):
        x, = arguments
        results = [called(x * factor) for factor in (1, 2, 3)]
        with torch.no_grad():
            called(x)
        for result in reversed(results):
            result.square().sum().backward()
        return [*results, x.grad, *(parameter.grad for parameter in module.parameters())]
    return Trained(module, (_x(6, 8),), module, run=run)


def many_steps():
    """As often as a recording of a call is replayed."""
    module = _of(Blocks)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)

    def run(called, arguments):
        x, = arguments
        losses = []
        for number in range(8):
            optimizer.zero_grad()
            loss = called(x * (1 + number / 8)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().clone())
        return [*losses, x.grad, *module.parameters(), *module.buffers()]
    return Trained(module, (_x(6, 8),), module, run=run)


def gradients_that_lie_otherwise():
    def run(called, arguments):
        x, = arguments
        result = called(x)
        given = torch.linspace(-1, 1, result.numel()).reshape(result.shape[::-1]).permute(3, 2, 1, 0)
        return [result, *torch.autograd.grad(result, x, given, retain_graph=True),
                *torch.autograd.grad(result, x, torch.linspace(0, 1, 5).expand(result.shape))]
    return Trained(lambda x: F.softmax(x, 3) * 3, (_x(2, 3, 4, 5),), run=run)


def channels_last():
    module = _of(lambda: torch.nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last)
    return Trained(module, (_x(2, 3, 8, 8, grad=False).to(memory_format=torch.channels_last).requires_grad_(),), module)


def autocast_inside():
    module = _of(Blocks)

    def function(x):
        with torch.autocast("cpu", torch.bfloat16):
            return module(x).float() * 2
    return Trained(function, (_x(6, 8),), module)


def autocast_around():
    module = _of(lambda: torch.nn.Linear(8, 4))

    def run(called, arguments):
        x, = arguments
        with torch.autocast("cpu", torch.bfloat16):
            result = called(x)
        result.float().square().sum().backward()
        return [result, x.grad, module.weight.grad]
    return Trained(module, (_x(6, 8),), module, run=run)


def some_results_unused():
    def run(called, arguments):
        x, y = arguments
        one, other = called(x, y)
        one.sum().backward()
        return [one, other, x.grad]
    return Trained(lambda x, y: (x * y.detach() + x, y.exp() * x), (_x(3, 4), _x(3, 4)), run=run)


class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(context, gradient):
        x, = context.saved_tensors
        return gradient * 3 * x * x


def own_function():
    return Trained(lambda x: Cubed.apply(x).sin(), (_x(3, 4),))


def checkpointed():
    module = _of(lambda: torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()))
    return Trained(
        lambda x: checkpoints.checkpoint(module, x, use_reentrant=False).square(), (_x(4, 8),), module)


def kept_by_policy(context, operator, *arguments, **keywords):
    return checkpoints.CheckpointPolicy.MUST_SAVE if operator is torch.ops.aten.tanh.default else (
        checkpoints.CheckpointPolicy.PREFER_RECOMPUTE)


def checkpointed_by_policy():
    module = _of(lambda: torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()))
    context = functools.partial(checkpoints.create_selective_checkpoint_contexts, kept_by_policy)
    return Trained(
        lambda x: checkpoints.checkpoint(module, x, use_reentrant=False, context_fn=context).square(), (_x(4, 8),), module)


def recurrent():
    """A loop of the plan's, in both directions."""
    def function(x, weight):
        def step(state, row):
            state = torch.tanh(state @ weight + row)
            return state, state * 1
        return scan(step, torch.zeros(2, 4), x)[1]
    return Trained(function, (_x(5, 2, 4, grad=False), _x(4, 4)))


def graph_break():
    module = _of(lambda: torch.nn.Linear(8, 8))

    def function(x):
        y = module(x)
        torch._dynamo.graph_break()
        return y.tanh() * x
    return Trained(function, (_x(4, 8),), module)


def _decorated(function):
    def wrapper(x, *more):
        count = len(more)
        return function(x * 3) + count
    return wrapper


def graph_break_in_a_closure():
    module = _of(lambda: torch.nn.Linear(8, 8))

    def function(x):
        y = module(x)
        torch._dynamo.graph_break()
        return y.tanh() * x
    return Trained(_decorated(function), (_x(4, 8),), module)


def gradient_inside():
    def function(x, w):
        y = (x @ w).tanh().sum()
        torch._dynamo.graph_break()
        gradient, = torch.autograd.grad(y, w)
        return gradient * 2
    return Trained(function, (_x(3, 4, grad=False), _x(4, 4)), run=lambda called, arguments: [called(*arguments)])


def step_as_a_whole():
    module = _of(Blocks)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)

    def function(x):
        optimizer.zero_grad()
        loss = module(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return Trained(
        function, (_x(6, 8),), module,
        run=lambda called, arguments: [called(*arguments), called(*arguments), *module.parameters()])


def hooks():
    module = _of(lambda: torch.nn.Linear(8, 4))
    module.weight.register_hook(lambda gradient: gradient * 2)
    return Trained(module, (_x(6, 8),), module)


def _sized(rows):
    module = _of(Blocks)
    return Trained(module, (_x(rows, 8),), module, {"dynamic": True})


def sized_of_6():
    return _sized(6)


def sized_of_9():
    return _sized(9)


def batches_of_gradients():
    def run(called, arguments):
        x, = arguments
        result = called(x)
        return torch.autograd.grad(result, x, torch.eye(4), is_grads_batched=True)
    return Trained(lambda x: torch.tanh(x) * 2, (_x(4),), run=run)


def nothing():
    return Trained(lambda x: torch.tanh(x) * 2, (_x(0, 4),))


def halves():
    module = _of(Blocks).to(torch.bfloat16)
    return Trained(module, (_x(6, 8, grad=False).bfloat16().requires_grad_(),), module)


def numbers():
    return Trained(
        lambda x, factor: x.sin() * factor, (_x(3, 4), 1.5), options={"dynamic": True})


def _refused(run):
    """What it raises, as text."""
    try:
        return run()
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error)[:120]}"


def gradient_of_a_gradient():
    def run(called, arguments):
        x, = arguments
        gradient, = torch.autograd.grad(called(x).sum(), x, create_graph=True)
        return [gradient, gradient.requires_grad, _refused(gradient.sum().backward)]
    return Trained(lambda x: torch.tanh(x) * x, (_x(3, 4),), run=run, is_as_eager=False)


def twice_without_keeping():
    def run(called, arguments):
        result = called(*arguments).sum()
        result.backward()
        return [arguments[0].grad, _refused(result.backward)]
    return Trained(lambda x: torch.tanh(x) * x, (_x(3, 4),), run=run)


def saved_and_changed():
    """What the backward pass reads is changed before it."""
    def run(called, arguments):
        x, y = arguments
        result = called(x, y).sum()
        with torch.no_grad():
            y.mul_(2)
        return [_refused(result.backward)[:80], x.grad is None]
    return Trained(lambda x, y: x.sin() * y, (_x(3, 4), _x(3, 4, grad=False)), run=run)


def deterministic_later():
    def run(called, arguments):
        result = called(*arguments).sum()
        torch.use_deterministic_algorithms(True)
        try:
            return [_refused(result.backward), arguments[0].grad is None]
        finally:
            torch.use_deterministic_algorithms(False)
    return Trained(lambda x: torch.tanh(x) * x, (_x(3, 4),), run=run, is_as_eager=False)


def precision_between():
    module = _of(lambda: torch.nn.Linear(64, 64))

    def run(called, arguments):
        x, = arguments
        result = called(x)
        torch.set_float32_matmul_precision("high")
        try:
            result.square().sum().backward()
        finally:
            torch.set_float32_matmul_precision("highest")
        return [result, x.grad, module.weight.grad]
    return Trained(module, (_x(32, 64),), module, run=run)


def tangents_of_gradients():
    """Forward mode over a backward pass: kernels know nothing of it."""
    from torch.autograd import forward_ad

    def run(called, arguments):
        x, = arguments
        result = called(x)
        with forward_ad.dual_level():
            given = forward_ad.make_dual(torch.ones(3, 4), torch.linspace(0, 1, 12).reshape(3, 4))
            gradient, = torch.autograd.grad(result, x, given)
            return list(forward_ad.unpack_dual(gradient))
    return Trained(lambda x: torch.tanh(x) * x, (_x(3, 4),), run=run)


def drawn():
    """Numbers are drawn in another order than in eager, but the same in each process."""
    def run(called, arguments):
        torch.manual_seed(5)
        x, = arguments
        result = called(x)
        result.sum().backward()
        return [result, x.grad, torch.rand(3)]
    return Trained(lambda x: F.dropout(torch.tanh(x), 0.5) * 2, (_x(8, 8),), run=run, is_as_eager=False)


def without_a_backward_pass():
    return Trained(lambda x: torch.tanh(x) * x.cos(), (_x(3, 5),), run=lambda called, arguments: [called(*arguments)])


def with_a_backward_pass():
    return without_a_backward_pass()._replace(run=None)


@torch.library.custom_op("stoker_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


scaled.register_fake(lambda x: torch.empty_like(x))
scaled.register_autograd(lambda context, gradient: gradient * 2)


def own_operator():
    return Trained(lambda x: scaled(x) + 1, (_x(3, 4),))


def own_gradient_of_3():
    return Trained(lambda x: Cubed.apply(x).sin(), (_x(3, 4),))


def own_gradient_of_4():
    """Its backward pass is another one, in a process that finds what one with Cubed's stored."""
    def backward(context, gradient):
        x, = context.saved_tensors
        return gradient * 4 * x * x
    Cubed.backward = staticmethod(backward)
    return own_gradient_of_3()


def failing_backward_pass():
    def run(called, arguments):
        from stoker.libstoker.library import StokerError
        from stoker.runtime.executable import Executable

        result = called(*arguments)
        original = Executable.run_once

        def fails(self, arguments):
            raise StokerError(4, "no memory for a test")

        Executable.run_once = fails
        try:
            result.sum().backward()
        finally:
            Executable.run_once = original
        again = called(*arguments)
        again.sum().backward()
        return [result, again, arguments[0].grad]
    return without_a_backward_pass()._replace(run=run)


def without_memory():
    """Calls under a mode whose tensors have none, of a function that is trained and of one that is not."""
    def run(called, arguments):
        from torch._subclasses.fake_tensor import FakeTensorMode

        x, = arguments
        called(x).sum().backward()
        found = [x.grad]
        for given in (x, x.detach()):
            with FakeTensorMode(allow_non_fake_inputs=True):
                found.append(type(called(given)).__name__)
        return found
    return Trained(lambda x: torch.tanh(x) * x.cos(), (_x(3, 4),), run=run)


def compiled_backward_pass():
    module = _of(Blocks)

    def run(called, arguments):
        from torch._dynamo import compiled_autograd

        x, = arguments
        compiler = compiled_autograd._enable(lambda gm: torch.compile(gm, backend="eager"))
        with compiler:
            called(x).square().sum().backward()
        result = called(x).square().sum()
        with compiled_autograd._enable(lambda gm: torch.compile(gm, backend="eager")):
            result.backward()
        return [x.grad, *(parameter.grad for parameter in module.parameters())]
    return Trained(module, (_x(6, 8),), module, run=run)


def backward_pass_in_halves():
    """AOTAutograd traces it so, as a program says."""
    from torch._functorch import config

    config.backward_pass_autocast = [{"device_type": "cpu", "dtype": torch.bfloat16}]
    return backward_pass_in_floats()


def backward_pass_in_floats():
    module = _of(lambda: torch.nn.Linear(16, 16))
    return Trained(lambda x: module(x).sin(), (_x(8, 16),), module, is_as_eager=False)
