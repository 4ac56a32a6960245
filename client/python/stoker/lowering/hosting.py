"""Which operators without a rule run inside a segment, as calls of PyTorch between its kernels, and what is said of them
there."""

import operator

import torch

from ..graph.dims import Dim, from_words, symbol, to_words
from ..graph.host_call import HostCall, NoHostCall, View
from ..graph.layout import DTYPES, SizedTensor, is_tensor, layout_of
from ..graph.program import Slot
from ..pytorch.operators import OpOverload, schema_of
from .counted import COUNTING
from .draws import hands_on_state, may_draw
from .mapping import NUMBERS
from .views import owner_of

# Their results are there only when something else has waited for them.
_ASYNCHRONOUS = frozenset(("c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd"))


def results_of(node, device):
    """[(which of the tensors that the operator gives, or None where it gives one; its meta value)], those that are
    used; None where the operator cannot run inside a segment on the device: it changes what it is given, or gives what
    kernels do not take, or nobody knows of what size or where, or nothing."""
    target = node.target
    if not isinstance(target, OpOverload) or target.namespace in _ASYNCHRONOUS or schema_of(target).is_mutable:
        return None
    if target in COUNTING:  # What is around it in memory, nobody hands over.
        return None
    if device.type == "cuda" and hands_on_state(node):
        return None
    value = node.meta.get("val")
    if is_tensor(value):
        results = [(None, value)] if node.users else []
    elif isinstance(value, (list, tuple)) and all(user.target is operator.getitem for user in node.users):
        results = [(place, value[place]) for place in sorted({user.args[1] for user in node.users})]
    else:
        return None
    takes = all(_is_plain(result, device) for _, result in results)
    # A compiler takes what has no elements for a constant: the call would be gone, and what it raises.
    takes = takes and any(0 not in result.shape for _, result in results)
    gives = all(_may_be_given(source, device) for source in node.all_input_nodes)
    return results if results and takes and gives else None


def _is_plain(value, device):
    return (is_tensor(value) and value.dtype in DTYPES and value.device == device
            and value.layout == torch.strided and all(type(size) in (int, Dim) for size in value.shape))


def _may_be_given(node, device):
    value = node.meta.get("val")
    return isinstance(value, (bool, int, float, Dim)) or _is_plain(value, device)


def may_lie_otherwise(node):
    """Does it give the same, given tensors without gaps? What draws fills tensors in the order in which those lie that
    it is given."""
    values = [source.meta.get("val") for source in node.all_input_nodes]
    return not may_draw(node) or all(
        layout_of(value).order is not None for value in values if is_tensor(value))


def order_of(value):
    """HostCall's order of a tensor's dims."""
    order = layout_of(value).order
    return None if order is None or list(order) == sorted(order) else list(order)


def seen_of(node):
    """(the fx node whose memory an operand is, HostCall's word for what the operator sees of it). A part of a tensor is
    seen where it lies, as in eager: no kernel copies it."""
    value, owner = node.meta["val"], owner_of(node)
    whole = owner.meta.get("val")
    if owner is node or not is_tensor(whole) or whole.dtype != value.dtype or (
            layout_of(value).order is not None or layout_of(whole).order is None):
        return node, order_of(value)
    offset, first = value.storage_offset(), whole.storage_offset()
    if offset is None or first is None:
        raise NoHostCall("a part of a tensor that begins nobody knows where")
    return owner, View(tuple(value.shape), tuple(value.stride()), offset - first)


def call_of(node, results, awaited):
    """(HostCall, the fx nodes of its operands). `results`: of results_of; `awaited`: Values of the operands that follow,
    which the operator does not see. NoHostCall where it cannot be said."""
    operands = {}  # fx node -> its place.

    def argument(value):
        if isinstance(value, torch.fx.Node):
            known = value.meta["val"]
            return Slot(operands.setdefault(value, len(operands))) if is_tensor(known) else known
        if isinstance(value, (list, tuple)):
            return [argument(each) for each in value]
        return value

    arguments = [argument(each) for each in node.args]
    keywords = {name: argument(value) for name, value in node.kwargs.items()}
    seen = [seen_of(source) for source in operands]
    orders = [order for _, order in seen] + [None] * len(awaited)
    named = [[place, order_of(value)] for place, value in results]
    call = HostCall(str(node.target), arguments, keywords, orders, named)
    if call.varies:
        lie = [source.meta["val"] for source, _ in seen], awaited, [value for _, value in results]
        sizes = [size for values in lie for value in values for size in _sizes_of(value)]
        call = call._replace(
            arguments=_counted(arguments, sizes),
            keywords={name: _counted(value, sizes) for name, value in keywords.items()},
            orders=[View(*_counted(list(order), sizes)) if type(order) is View else order for order in orders])
    return call, [source for source, _ in seen]


def _sizes_of(value):
    """Of a tensor, or a Value, as it lies in the plan."""
    order = layout_of(value).order if is_tensor(value) else None
    return value.shape if order is None else [value.shape[dim] for dim in order]


def _counted(argument, sizes):
    """An argument of a HostCall, with Dims that count `sizes`."""
    if isinstance(argument, Dim):
        return from_words(to_words(argument), lambda number: symbol(_place_of(number, sizes)))
    return type(argument)(_counted(each, sizes) for each in argument) if type(argument) in (list, tuple) else argument


def _place_of(number, sizes):
    """Where a symbol is among sizes."""
    for place, size in enumerate(sizes):
        if isinstance(size, Dim) and size.symbol == number:
            return place
    raise NoHostCall(f"the size s{number}, which no tensor of its has")


def apart(hosted, outside):
    """Those of the fx nodes `hosted`, in graph order, that need not run between kernels: what they are given is there
    before, or no kernel reads what they give. Those that draw keep their order with those that stay. `outside`: fx
    nodes that no segment makes."""
    ahead = _apart(hosted, lambda node, found: all(
        source in outside or source in found or isinstance(source.meta.get("val"), NUMBERS)
        for source in (_owner(each) for each in node.all_input_nodes)))
    behind = _apart(hosted[::-1], lambda node, found: all(
        user.op == "output" or user in outside or user in found for user in _users(node)))
    return ahead | behind


def _apart(hosted, is_apart):
    found, drew = set(), False
    for node in hosted:
        if is_apart(node, found) and not (drew and may_draw(node)):
            found.add(node)
        else:
            drew = drew or may_draw(node)
    return found


def _owner(node):
    return node.args[0] if node.target is operator.getitem else node


def _users(node):
    for user in node.users:
        if user.target is operator.getitem:
            yield from user.users
        else:
            yield user
