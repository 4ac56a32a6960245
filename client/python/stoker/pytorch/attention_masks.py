"""Masks of attention that keep everything. PyTorch chooses a kernel by how a mask lies: for one that no fused kernel reads it
writes down all scores, be every element of it true."""

import contextlib
import math

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ..base.signals import let_through
from .devices import CPU
from .operators import look_at_real_tensors

_DEVICE = "cuda"
_MASK = 3  # Among the arguments of scaled_dot_product_attention.
_IS_CAUSAL = 5
# Where a mask is made of shapes alone it is made of these; they write to nothing that they are given.
_MAKING = frozenset("""
    add and arange bitwise_and bitwise_not bitwise_or broadcast_to eq expand full ge getitem gt invert le logical_and
    logical_not logical_or lt mul ne new_ones new_zeros ones or reshape sub to tril triu unsqueeze view zeros""".split())
_MAX_ELEMENTS = 1 << 22
_NARROW = (torch.float16, torch.bfloat16)


def without_full_ones(gm, inputs):
    """Around the tracing of Dynamo's graph: what follows is told from every operator that is traced, which takes its time."""
    on_gpu = any(isinstance(x, torch.Tensor) and x.device.type == _DEVICE for x in _leaves(list(inputs)))
    return WithoutFullMasks() if on_gpu and _asks_for_attention(gm) else contextlib.nullcontext()


def _asks_for_attention(gm):
    """Is it called in Dynamo's graph, or in one that this one holds?"""
    return any(
        module.graph.find_nodes(op="call_function", target=scaled_dot_product_attention)
        for module in gm.modules() if isinstance(module, torch.fx.GraphModule))


class WithoutFullMasks(TorchFunctionMode):
    """While a graph is traced: a mask on a GPU that is made of shapes alone, keeps everything, whatever the sizes are that
    vary, and lies as no fused kernel reads it is none. The result lies as PyTorch's would. Only where there are no gradients,
    and numbers are narrow: fused kernels have errors of their own."""

    def __init__(self):
        super().__init__()
        # id -> (a tensor of the trace, what it is, on the CPU; where sizes vary, the least and the greatest of its elements)
        self._known = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        if func is scaled_dot_product_attention:
            return self._attention(args, keywords)
        result = func(*args, **keywords)
        if not _only_makes(func) or "out" in keywords:
            if any(id(x) in self._known for x in _leaves((args, keywords))):
                self._known.clear()  # It may have been written to, or a view of it.
        elif isinstance(result, torch.Tensor):
            self._note(result, func, args, keywords)
        return result

    def _attention(self, args, keywords):
        mask = args[_MASK] if len(args) > _MASK else keywords.get("attn_mask")
        query = args[0] if args else keywords["query"]
        is_causal = args[_IS_CAUSAL] if len(args) > _IS_CAUSAL else keywords.get("is_causal", False)
        needs_gradients = torch.is_grad_enabled() and query.requires_grad
        if is_causal or needs_gradients or query.dtype not in _NARROW or not self._says_nothing(mask):
            return scaled_dot_product_attention(*args, **keywords)
        if len(args) > _MASK:
            args = (*args[:_MASK], None, *args[_MASK + 1:])
        else:
            keywords = {**keywords, "attn_mask": None}
        return scaled_dot_product_attention(*args, **keywords).contiguous()

    def _says_nothing(self, mask):
        if not isinstance(mask, torch.Tensor) or mask.device.type != _DEVICE or mask.dtype != torch.bool or not mask.dim():
            return False
        if any(type(number) is int and number == 1 for number in (mask.stride(-1), mask.shape[-1])):
            return False  # A fused kernel reads it.
        known = self._known.get(id(mask))
        with look_at_real_tensors():
            return known is not None and _bounds(known[1])[0] == 1

    def _note(self, result, func, args, keywords):
        leaves = _leaves((args, keywords))
        given = [x for x in leaves if isinstance(x, torch.Tensor)]
        if any(id(x) not in self._known for x in given):
            return
        with torch.no_grad(), look_at_real_tensors():
            if _varies(leaves) or _varies(result.shape) or any(isinstance(self._known[id(x)][1], tuple) for x in given):
                found = self._bounds_of(result, func, args, keywords)
            else:
                found = self._made(result, func, args, keywords)
        if found is not None:
            self._known[id(result)] = result, found

    def _made(self, result, func, args, keywords):
        def told(x):
            if isinstance(x, torch.Tensor):
                return self._known[id(x)][1]
            return CPU if isinstance(x, torch.device) else x

        if result.numel() > _MAX_ELEMENTS:
            return None
        elsewhere = {"device": CPU} if "device" in keywords else {}
        try:
            return func(*_mapped(told, args), **{**_mapped(told, keywords), **elsewhere})
        except Exception as error:  # Nobody knows it then.
            let_through(error)
            return None

    def _bounds_of(self, result, func, args, keywords):
        def told(x):
            return _bounds(self._known[id(x)][1]) if isinstance(x, torch.Tensor) else _bounds(x)

        name = func.__name__.strip("_")
        if name in _VIEWS and args and args[0].dtype == result.dtype:
            return told(args[0])
        if name in _FILLED:
            return (_FILLED[name],) * 2
        if name == "arange":
            return _bounds_of_places(args, keywords)
        if name in _OF_BOUNDS and result.dtype in _DTYPES_OF_BOUNDS[name] and not keywords:
            return _OF_BOUNDS[name](*[told(x) for x in args])
        return None


# ---- Bounds -------------------------------------------------------------------------------------------


_ANYTHING = (-math.inf, math.inf)
_VIEWS = frozenset("broadcast_to expand getitem reshape unsqueeze view".split())
_FILLED = {"ones": 1, "new_ones": 1, "zeros": 0, "new_zeros": 0}
_TRUTHS, _PLACES = (torch.bool,), (torch.int64,)


def _truth(always, never):
    return (int(always), int(not never))


# Name -> the bounds of what it gives, of those of its arguments.
_OF_BOUNDS = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "ge": lambda a, b: _truth(a[0] >= b[1], a[1] < b[0]),
    "gt": lambda a, b: _truth(a[0] > b[1], a[1] <= b[0]),
    "le": lambda a, b: _truth(a[1] <= b[0], a[0] > b[1]),
    "lt": lambda a, b: _truth(a[1] < b[0], a[0] >= b[1]),
    "invert": lambda a: (1 - a[1], 1 - a[0]),
    **dict.fromkeys(("and", "bitwise_and", "logical_and"), lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    **dict.fromkeys(("or", "bitwise_or", "logical_or"), lambda a, b: (max(a[0], b[0]), max(a[1], b[1])))}
_OF_BOUNDS["bitwise_not"] = _OF_BOUNDS["logical_not"] = _OF_BOUNDS["invert"]
_DTYPES_OF_BOUNDS = {name: _PLACES if name in ("add", "sub") else _TRUTHS for name in _OF_BOUNDS}


def _bounds(value):
    """(the least, the greatest) of a tensor's elements, or a number's own."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, torch.Tensor):
        return (value.min().item(), value.max().item()) if value.numel() and not value.is_complex() else _ANYTHING
    return (value, value) if isinstance(value, (bool, int, float)) else _ANYTHING


def _bounds_of_places(args, keywords):
    """Of what arange counts upwards, in the dtype that it has by itself."""
    if len(args) > 2 or not keywords.keys() <= {"device"}:
        return None
    start = args[0] if len(args) == 2 else 0
    is_counted = type(start) is int and all(isinstance(end, (int, torch.SymInt)) for end in args)
    return (start, math.inf) if is_counted else None


def _varies(values):
    return any(isinstance(value, torch.SymInt) for value in values)


def _only_makes(func):
    name = getattr(func, "__name__", "")
    is_in_place = name.endswith("_") and not name.endswith("__")
    return not is_in_place and name.strip("_") in _MAKING


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, slice):
        value = [value.start, value.stop, value.step]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _mapped(function, value):
    if isinstance(value, dict):
        return {key: _mapped(function, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):  # torch.Size holds nothing but numbers.
        made = [_mapped(function, item) for item in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, slice):
        return slice(*(_mapped(function, item) for item in (value.start, value.stop, value.step)))
    return function(value)
