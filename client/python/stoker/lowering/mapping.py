"""From fx nodes to the values of one graph's text, by the rules of aten_ops/."""

import operator

import torch

from ..aten_ops import Unsupported, checked_numbers, require_numbers_fit
from ..graph.dims import Dim
from ..graph.layout import DTYPES, WORDS, is_tensor
from ..graph.values import Type, Value
from ..pytorch.operators import schema_of
from ..pytorch.sizes import SYMBOLIC

MAX_RANK = 8  # Of graphs: protocol/graph/tensor_type.h.
NUMBERS = (bool, int, float, Dim)


def is_number(node):
    """Of an fx node as it was traced."""
    return isinstance(node.meta.get("val"), (*NUMBERS, *SYMBOLIC))


def type_of(value, device):
    """The Type of a tensor on the device, a tuple of them for a list, None for anything else."""
    if is_tensor(value):
        dtype = DTYPES.get(value.dtype) or WORDS.get(value.dtype)
        if dtype is None or value.layout != torch.strided:
            raise Unsupported(f"a {value.layout} tensor of {value.dtype} on {value.device.type}")
        if value.device != device:
            raise Unsupported(f"a tensor on {_words_of(value.device, device)}")
        if len(value.shape) > MAX_RANK:
            raise Unsupported(f"{len(value.shape)} dims, more than {MAX_RANK}")
        return Type(dtype, tuple(value.shape))
    if isinstance(value, (list, tuple)):
        return tuple(type_of(item, device) for item in value)
    return None


def _words_of(device, other):
    if device.type != other.type:
        return f"{device.type} beside others on {other.type}"
    return f"another {device.type} device"


class Mapping:
    """`text`: the GraphText that nodes are added to."""

    def __init__(self, text, device):
        self.text = text
        text.has_fast_f64 = device.type == "cpu"
        self.device = device
        self.values = {}  # fx node -> Value, or list of what a rule gave.

    def argument(self, argument):
        """An fx argument as rules take it."""
        if isinstance(argument, torch.fx.Node):
            return self.node_argument(argument)
        if isinstance(argument, (list, tuple)):
            return [self.argument(item) for item in argument]
        if isinstance(argument, complex):
            raise Unsupported("complex numbers")
        return argument

    def node_argument(self, node):
        value = self.values.get(node)
        if value is not None:
            return value
        known = self.known(node)
        if isinstance(known, NUMBERS):
            return known
        return self.missing(node, known)

    def known(self, node):
        """What PyTorch says of a node's value."""
        return node.meta.get("val")

    def missing(self, node, known):
        """The argument for a node that is not made here."""
        raise Unsupported(f"an argument that is no tensor: {node}")

    def map(self, node, rule):
        self.text.maker = node.name
        out = type_of(self.known(node), self.device)
        arguments = [self.argument(argument) for argument in node.args]
        keywords = {name: self.argument(value) for name, value in node.kwargs.items()}
        schema = schema_of(node.target)
        if isinstance(out, Type):
            require_numbers_fit(schema, out.dtype, arguments, keywords)
        result = rule(self.text, out, *arguments, **keywords)
        if isinstance(out, Type):
            if not isinstance(result, Value):
                raise Unsupported("a form with several results")
            _check(result, out)
            result = checked_numbers(self.text, schema, result, arguments, keywords)
            result = self.finished(node, result)
        else:
            result = list(result)
            for user in node.users:
                if user.target is not operator.getitem:
                    raise Unsupported("a list of tensors used as a whole")
                index = user.args[1]
                if callable(result[index]):
                    result[index] = result[index]()
                _check(result[index], out[index])
        self.values[node] = result

    def finished(self, node, result):
        """What becomes of a node's one result."""
        return result


def _check(value, out):
    """A rule must give what PyTorch derived: anything else is not this operator."""
    if value is None or out is None or value.dtype != out.dtype or value.shape != out.shape:
        found = None if value is None else value.type
        raise Unsupported(f"the mapping gives {found} where PyTorch has {out}")
