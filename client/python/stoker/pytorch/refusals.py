"""What PyTorch's kernels refuse, and a trace does not: tracing takes operators apart, and asks for sizes alone."""

import contextlib
import functools
from math import prod

import torch

from .operators import OpOverload, look_at_real_tensors

# Of what is given beside a tensor without elements, where it is made to try an operator.
MAX_ELEMENTS = 1 << 22
_GIVEN = "example_value"  # In the meta of Dynamo's nodes: what was traced.


class _Unknown(Exception):
    """It cannot be tried."""


def of_nothing(gm):
    """What PyTorch raises for one of the operators of Dynamo's graph that are given a tensor without elements; None where
    it takes them all. There kernels and traces differ, and to try costs nothing."""
    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if any(map(_is_nothing, node.all_input_nodes)) and _is_pytorchs(node):
                error = _refusal(node)
                if error is not None:
                    return error
    return None


def _is_nothing(node):
    value = node.meta.get(_GIVEN)
    # A size that varies is not asked: that would be a guard.
    return isinstance(value, torch.Tensor) and any(type(size) is int and size == 0 for size in value.shape)


@functools.cache
def _functions():
    """Those of PyTorch that compute, and wait for nobody else."""
    listed = torch.overrides.get_overridable_functions().values()
    return frozenset(function for functions in listed for function in functions)


def _is_pytorchs(node):
    if node.op == "call_method":
        return hasattr(torch.Tensor, node.target)
    if node.op != "call_function":
        return False
    if isinstance(node.target, OpOverload):
        return node.target.namespace in ("aten", "prims")
    return node.target in _functions() or (getattr(node.target, "__module__", None) or "").startswith(
        ("_operator", "torch._C"))


def _refusal(node):
    try:
        given = torch.fx.node.map_arg((node.args, dict(node.kwargs)), _made_up)
    except _Unknown:
        return None
    arguments, keywords = given
    with torch.no_grad(), look_at_real_tensors(), _numbers_as_they_were(node):
        try:
            _run(node, *torch.fx.node.map_aggregate((arguments, keywords), _filled))
        except Exception as error:
            return error
    return None


class _MadeUp:
    """Stands for a tensor until no mode of tracing is on."""

    def __init__(self, value):
        self.value = value


def _made_up(node):
    value = node.meta.get(_GIVEN)
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_quantized:
        raise _Unknown
    sizes = (*value.shape, *value.stride())
    if not all(type(size) is int for size in sizes) or prod(value.shape) > MAX_ELEMENTS:
        raise _Unknown
    return _MadeUp(value)


def _filled(argument):
    if not isinstance(argument, _MadeUp):
        return argument
    value = argument.value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device).zero_()


def _run(node, arguments, keywords):
    function = getattr(torch.Tensor, node.target) if node.op == "call_method" else node.target
    return function(*arguments, **keywords)


@contextlib.contextmanager
def _numbers_as_they_were(node):
    """Where the operator draws random numbers, the program's next ones are not others."""
    devices = {source.meta[_GIVEN].device for source in node.all_input_nodes if _is_nothing(source)}
    with torch.random.fork_rng([device for device in devices if device.type == "cuda"]):
        yield
