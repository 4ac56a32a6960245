"""What PyTorch's kernels refuse, and a trace does not: tracing takes operators apart, and asks for sizes alone."""

import contextlib
import math
import warnings

import torch

from ..base.signals import let_through
from .operators import OpOverload, OpOverloadPacket, look_at_real_tensors

# Of each tensor that is made to try an operator, and of each that it gives: what is compiled may never hold it.
MAX_ELEMENTS = 1 << 22
GIVEN = "example_value"  # In the meta of Dynamo's nodes: what was traced.
# Of tensors of one of these types alone kernels take what traces take,
_USUAL = frozenset((torch.float32, torch.float64, torch.bfloat16, torch.float16))
# but for some of these functions.
_STRICTER = frozenset("""
    _log_softmax_backward_data _softmax_backward_data bucketize index_add index_copy index_reduce one_hot put searchsorted
    select_scatter slice_scatter smooth_l1_loss soft_margin_loss""".split())
# What is around a tensor in memory is not made, and of an assertion it is the elements that matter.
_LEFT_ALONE = frozenset(("as_strided", "as_strided_", "as_strided_scatter", "set_", "_assert_async", "_functional_assert_async"))
_OF_LAPACK = ("linalg_", "lu_", "cholesky_", "ormqr", "geqrf", "triangular_solve")
# Whoever runs an operator within these runs it on other types than those that it is given here.
_CHANGES_TYPES = ("autocast", "vmap")


class _Unknown(Exception):
    """It cannot be tried."""


def by_kernels(gm):
    """What PyTorch raises for one of the operators of Dynamo's graph, of those whose kernels may refuse what traces take:
    given tensors without elements, of several types, of numbers that are no floats, or of no dims, or stricter by themselves.
    None where it takes them all. Of other elements than those that are tried it may take what it raises for."""
    taken = set()
    by_types = not _changes_types(gm)
    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            is_asked = any(_is_nothing(each) for each in (node, *node.all_input_nodes)) or by_types and _is_unusual(node)
            if is_asked and not _takes_pivots(node) and (node.all_input_nodes or _makes_tensor(node)) and is_pytorchs(node):
                error = _refusal(node, taken)
                if error is not None:
                    return error
    return None


def _is_nothing(node):
    value = node.meta.get(GIVEN)
    # A size that varies is not asked: that would be a guard.
    return isinstance(value, torch.Tensor) and any(type(size) is int and size == 0 for size in value.shape)


def _takes_pivots(node):
    """Is it given integers that LAPACK takes for places in memory, whatever they are?"""
    return _name_of(node).startswith(_OF_LAPACK) and any(
        isinstance(value := source.meta.get(GIVEN), torch.Tensor) and not value.dtype.is_floating_point and not value.dtype.is_complex
        for source in node.all_input_nodes)


def _name_of(node):
    return node.target if node.op == "call_method" else getattr(node.target, "__name__", "").partition(".")[0]


def _makes_tensor(node):
    """On a processor, as what is given no tensor and nothing else: PyTorch's state, say."""
    value = node.meta.get(GIVEN)
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _is_unusual(node):
    """Waiting for a GPU to say it would cost more."""
    name = _name_of(node)
    given = [source.meta.get(GIVEN) for source in node.all_input_nodes]
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    types = {value.dtype for value in tensors}
    is_unusual = len(types) > 1 or not types <= _USUAL or name.rstrip("_") in _STRICTER or not any(
        value.dim() for value in tensors) or _has_number_beyond(node, types)
    return is_unusual and name not in _LEFT_ALONE and all(value.device.type == "cpu" for value in tensors)


def _has_number_beyond(node, types):
    """Is it given a number that is no infinity, and that one of these types cannot hold?"""
    found = []
    torch.fx.node.map_aggregate((node.args, node.kwargs), found.append)
    return any(
        type(number) in (int, float) and math.isfinite(number) and abs(number) > torch.finfo(dtype).max
        for number in found for dtype in types)


def _changes_types(gm):
    return torch._C._is_any_autocast_enabled() or any(
        word in getattr(node.target, "__name__", "") for module in gm.modules() if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes if node.op == "call_function" for word in _CHANGES_TYPES)


# Whose functions compute, and wait for nobody else.
_MODULES = (torch, torch.nn.functional, torch.functional, torch.special, torch.linalg, torch.fft)
_OF_PYTORCH = ("_operator", "torch._C", "torch.nn.functional")
_WITHIN_OTHERS = "torch._C._functorch"  # These run between the beginning and the end of a transform.


def is_pytorchs(node):
    """Does a node of Dynamo's graph call what PyTorch computes with?"""
    if node.op == "call_method":
        return hasattr(torch.Tensor, node.target)
    if node.op != "call_function":
        return False
    if isinstance(node.target, OpOverload | OpOverloadPacket):
        return str(node.target).partition(".")[0] in ("aten", "prims")
    name = getattr(node.target, "__name__", "")
    home = getattr(node.target, "__module__", None) or ""
    return home.startswith(_OF_PYTORCH) and not home.startswith(_WITHIN_OTHERS) or any(
        getattr(module, name, None) is node.target for module in _MODULES)


def _refusal(node, taken):
    """What it raises of zeros, and of ones: of some integers an operator refuses the one or the other, or each for another
    reason. `taken`: keys of what it is known to take."""
    try:
        given = torch.fx.node.map_arg((node.args, dict(node.kwargs)), _made_up)
    except _Unknown:
        return None
    if _is_large(node.meta.get(GIVEN)):
        return None
    key = repr((node.target, given))
    if key in taken:
        return None
    with torch.no_grad(), look_at_real_tensors(), _numbers_as_they_were(node), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The program's own calls warn.
        error = _error_of(node, given, 0)
        if error is not None and str(error) != str(_error_of(node, given, 1)):
            error = None  # Of these elements, as of how many places a mask chooses.
    if error is None:
        taken.add(key)
    return error


def _error_of(node, given, element):
    def filled(argument):
        return argument.filled(element) if isinstance(argument, _MadeUp) else argument

    try:
        _run(node, *torch.fx.node.map_aggregate(given, filled))
    except torch.linalg.LinAlgError:  # Of these elements.
        return None
    except Exception as error:
        let_through(error)
        return error
    return None


def _is_large(value):
    """Has it, or a tensor in it, more elements than are made? Of sizes that are all numbers."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    shapes = [each.shape for each in values if isinstance(each, torch.Tensor)]
    return any(all(type(size) is int for size in shape) and math.prod(shape) > MAX_ELEMENTS for shape in shapes)


class _MadeUp:
    """Stands for a tensor until no mode of tracing is on."""

    def __init__(self, value):
        self._value = value

    def __repr__(self):
        value = self._value
        return f"{value.dtype} {value.device} {tuple(value.shape)} {value.stride()}"

    def filled(self, element):
        value = self._value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device).fill_(element)


def _made_up(node):
    value = node.meta.get(GIVEN)
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_quantized:
        raise _Unknown
    sizes = (*value.shape, *value.stride())
    if not all(type(size) is int for size in sizes) or math.prod(value.shape) > MAX_ELEMENTS:
        raise _Unknown
    return _MadeUp(value)


def _run(node, arguments, keywords):
    function = getattr(torch.Tensor, node.target) if node.op == "call_method" else node.target
    return function(*arguments, **keywords)


@contextlib.contextmanager
def _numbers_as_they_were(node):
    """Where the operator draws random numbers, the program's next ones are not others."""
    given = (source.meta.get(GIVEN) for source in node.all_input_nodes)
    devices = {value.device for value in given if isinstance(value, torch.Tensor)}
    with torch.random.fork_rng([device for device in devices if device.type == "cuda"]):
        yield
