"""Graphs with symbolic sizes, as they are lowered for all sizes at once."""

import torch

from ..base.signals import let_through
from ..aten_ops import Unsupported
from ..graph import dims
from ..graph.assumptions import Assumptions, ByForm
from ..graph.layout import SizedTensor, is_tensor
from ..graph.program import SymbolSource
from ..pytorch.sizes import SYMBOLIC, tree_of
from .replacements import copy_of


def sources_of(gm):
    """{name of a symbol: SymbolSource}: where a call's inputs say what it is, in the order of the inputs."""
    sources = {}
    placeholders = [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]
    for kind in ("size", "stride"):  # A symbol that is a stride alone is no size of a kernel's.
        for place, value in enumerate(placeholders):
            for dim, size in _numbered(value, kind):
                name = _unless_number(size)
                if isinstance(name, str):
                    sources.setdefault(name, SymbolSource(place, "value" if dim is None else kind, dim))
    return sources


def sizes_of(value, kind):
    """Of a tensor. `kind`: of SymbolSource."""
    return value.shape if kind == "size" else value.stride()


def _numbered(value, kind):
    if isinstance(value, torch.Tensor):
        return enumerate(sizes_of(value, kind))
    return [(None, value)] if kind == "size" and isinstance(value, torch.SymInt) else ()


def _unless_number(size):
    try:
        return tree_of(size)
    except ValueError as error:
        let_through(error)
        return None


def inputs_of(gm):
    """(SymbolSources, {place: what is known of an input with a symbolic size, in terms of the symbols' numbers}); nothing
    where these do not say it all."""
    sources = sources_of(gm)
    symbols = {name: dims.symbol(number) for number, name in enumerate(sources)}
    texts = {}
    for place, node in enumerate(gm.graph.find_nodes(op="placeholder")):
        try:
            value = _with_dims(node.meta.get("val"), symbols)
        except Unsupported:
            return (), {}
        if isinstance(value, SizedTensor):
            if dims.varies((value.shape, value.strides)):
                texts[place] = f"{value.dtype} {value.device.type} {value.shape} {value.strides}"
        elif dims.varies(value):
            texts[place] = f"size {value}"
    return tuple(sources.values()), texts


def of_unknown_size(gm):
    """fx nodes that are no inputs and have a size, or are one, that the symbols of the inputs do not say."""
    symbols = {name: dims.symbol(number) for number, name in enumerate(sources_of(gm))}
    return {
        node for node in gm.graph.nodes
        if node.op == "call_function" and "val" in node.meta and not _is_known(node.meta["val"], symbols)}


def _is_known(value, symbols):
    try:
        _with_dims(value, symbols)
    except Unsupported:
        return False
    return True


def without_sizes_of_a_run(gm):
    """The graph, whose inputs have numbers for sizes, or a copy of it in which values have no sizes where only a run knows
    them."""
    if all(_has_numbers(node.meta.get("val")) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    for node in gm.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = _without_symbols(node.meta["val"])
    return gm


def with_dims(gm):
    """A copy of a graph whose values have Dims for sizes, of which nothing is assumed, or none where nobody knows them."""
    symbols = {name: dims.symbol(number, ByForm()) for number, name in enumerate(sources_of(gm))}
    gm = copy_of(gm)
    for node in gm.graph.nodes:
        if "val" in node.meta:
            value = node.meta["val"]
            node.meta["val"] = _with_dims(value, symbols) if _is_known(value, symbols) else _without_symbols(value)
    return gm


def is_sized(node):
    """Of an fx node of such a graph: are all sizes known that it is given, and gives?"""
    return all(_has_numbers(each.meta.get("val")) for each in (node, *node.all_input_nodes))


def has_sizes(node):
    """Are the tensors that an fx node is given, and gives, not among those without sizes?"""
    return not any(_lacks_sizes(each.meta.get("val")) for each in (node, *node.all_input_nodes))


def _lacks_sizes(value):
    if isinstance(value, SizedTensor):
        return None in value.shape
    return isinstance(value, (list, tuple)) and any(_lacks_sizes(each) for each in value)


def _has_numbers(value):
    if is_tensor(value):
        return all(type(size) is int for kind in ("size", "stride") for size in sizes_of(value, kind))
    return all(_has_numbers(each) for each in value) if isinstance(value, (list, tuple)) else not isinstance(value, SYMBOLIC)


def _without_symbols(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_without_symbols(each) for each in value)
    return without_sizes(value) if isinstance(value, torch.Tensor) and not _has_numbers(value) else value


def without_sizes(value):
    """What is known of a tensor of unknown size."""
    nothing = (None,) * value.dim()
    return SizedTensor(value.dtype, value.device, value.layout, nothing, nothing)


class Typed:
    """A copy of a graph whose values have Dims for sizes, for calls that are like one with these `arguments`. `settled`:
    of Assumptions."""

    def __init__(self, gm, arguments, settled):
        sources = sources_of(gm)
        self.sources = tuple(sources.values())
        self.assumptions = Assumptions([source.read(arguments) for source in self.sources], settled)
        symbols = {name: self.assumptions.symbol(number) for number, name in enumerate(sources)}
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(gm.graph, {}))
        for node in graph.nodes:
            if "val" in node.meta:
                node.meta["val"] = _with_dims(node.meta["val"], symbols)
        self.gm = torch.fx.GraphModule(gm, graph)


def _with_dims(value, symbols):
    """A traced value."""
    if isinstance(value, SizedTensor):
        return value
    if isinstance(value, torch.Tensor):
        shape, strides = (tuple(_dim(size, symbols) for size in sizes) for sizes in (value.shape, value.stride()))
        return SizedTensor(value.dtype, value.device, value.layout, shape, strides, _offset_of(value, symbols))
    if isinstance(value, (list, tuple)):
        return type(value)(_with_dims(item, symbols) for item in value)
    return _dim(value, symbols) if isinstance(value, SYMBOLIC) else value


def _offset_of(value, symbols):
    try:
        return _dim(value.storage_offset(), symbols) if value.layout == torch.strided else None
    except Unsupported:  # An input's, which no size says.
        return None


def _dim(size, symbols):
    try:
        found = dims.of_tree(tree_of(size), symbols)
    except (ValueError, KeyError) as error:
        let_through(error)
        raise Unsupported(f"a size that is not known: {error}") from None
    return found.settled() if isinstance(found, dims.Dim) else found
