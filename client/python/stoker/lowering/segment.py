"""One segment in the making: what is mapped to nodes of a graph's text, and what comes in and goes out."""

import operator

import torch

from ..aten_ops import Unsupported
from ..graph.dims import Dim
from ..graph.layout import DTYPES, WORDS, is_tensor, layout_of, row_major
from ..graph.program import Copy, Segment, SegmentInput, SegmentOutput
from ..graph.text import GraphText, symbols_in
from ..graph.values import Type, Value
from . import hosting, targets
from .draws import may_draw

MAX_RANK = 8  # Of graphs: protocol/graph/tensor_type.h.
NUMBERS = (bool, int, float, Dim)  # What a node may give that is no tensor.


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


class Level:
    """`lowering`: of lower.py, which it is a level of."""

    def __init__(self, lowering):
        self.lowering = lowering
        self.text = GraphText(absent=targets.ABSENT[lowering.device.type])
        self.text.evaluate = self._evaluate
        self.values = {}  # fx node -> Value, or list of what a rule gave.
        self.imports = []  # (fx node, Layout), in the order of the text's inputs.
        self.exports = {}  # fx node -> None: what is needed outside, in order.
        self.last_draw = None  # What the last call that draws gave, as it lies.

    def argument(self, argument):
        """An fx argument as rules take it."""
        if isinstance(argument, torch.fx.Node):
            return self._node_argument(argument)
        if isinstance(argument, (list, tuple)):
            return [self.argument(item) for item in argument]
        if isinstance(argument, complex):
            raise Unsupported("complex numbers")
        return argument

    def _node_argument(self, node):
        value = self.values.get(node)
        if value is not None:
            return value
        known = node.meta.get("val")
        if isinstance(known, NUMBERS):
            return known
        if not is_tensor(known):
            raise Unsupported(f"an argument that is no tensor: {node}")
        return self._import(node, known)

    def _import(self, node, known):
        if not known.shape and known.device.type == "cpu":  # It goes along with tensors of any device.
            dtype = type_of(known, known.device).dtype
        else:
            dtype = type_of(known, self.lowering.device).dtype
        layout = layout_of(known)
        if layout.order is None:
            layout = row_major(layout.shape)
        value = self.text.input(dtype, layout.physical_shape, self.lowering.is_bound(node))
        self.imports.append((node, layout))
        self.values[node] = result = self.text.transpose(value, layout.places)
        if node in self.lowering.updated:
            self.text.updated.add(result)
        self.lowering.need(node)
        return result

    def _evaluate(self, value):
        """The tensor that a Value stands for if shapes alone decide it."""
        for node, known in self.values.items():
            if known is value and node in self.lowering.closed:
                return self.lowering.known_tensor(node)
        return None

    def map(self, node, rule):
        self.text.maker = node.name
        out = type_of(node.meta["val"], self.lowering.device)
        arguments = [self.argument(argument) for argument in node.args]
        keywords = {name: self.argument(value) for name, value in node.kwargs.items()}
        result = rule(self.text, out, *arguments, **keywords)
        if isinstance(out, Type):
            if not isinstance(result, Value):
                raise Unsupported("a form with several results")
            _check(node, result, out)
            result = self.if_in_bounds(node, result)
        else:
            result = list(result)
            for user in node.users:
                if user.target is not operator.getitem:
                    raise Unsupported("a list of tensors used as a whole")
                index = user.args[1]
                if callable(result[index]):
                    result[index] = result[index]()
                _check(node, result[index], out[index])
        self.values[node] = result

    def if_in_bounds(self, node, result):
        """What is made of the node, if it updates an input: an index out of bounds raises, and changes nothing that comes
        after it."""
        source = self.lowering.updates.get(node)
        if source is None or result in self.text.updated:
            return result
        return self.text.if_in_bounds(result, lambda: self.argument(source))

    def host(self, node, results):
        """The node as a call of PyTorch. `results`: of hosting.results_of."""
        self.text.maker = node.name
        # Where an index is out of bounds, that is known before the operator is given what was read there. And numbers are
        # drawn in order.
        awaited = self.text.limits() if self.lowering.reads_limits else []
        if may_draw(node) and self.last_draw is not None:
            awaited.append(self.last_draw)
        call, sources = hosting.call_of(node, results, len(awaited))
        operands = []
        for source in sources:
            value = self._node_argument(source)
            if not isinstance(value, Value):
                raise Unsupported("a list of tensors used as a whole")
            operands.append(self._physical(source, value))
        layouts = [layout_of(value) for _, value in results]
        types = [
            (DTYPES[value.dtype], layout.shape if layout.order is None else layout.physical_shape)
            for (_, value), layout in zip(results, layouts)]
        made = self.text.extern_call(call.text(), operands + awaited, types)
        if may_draw(node):
            self.last_draw = made[0]
        values = {
            place: value if layout.order is None else self.text.transpose(value, layout.places)
            for (place, _), layout, value in zip(results, layouts, made)}
        self.values[node] = values[None] if None in values else values

    def live(self):
        """(positions of needed inputs, nodes, values to return, {fx node: its Value})."""
        exported = {node: self.values[node] for node in self.exports}
        physical = (self._physical(node, value) for node, value in exported.items())
        returned = list(dict.fromkeys(value for value in physical if value.node is not None))
        return *self.text.live(returned), returned, exported

    def checked(self, inputs, nodes, returned):
        """What live() found, with the limits of those nodes' indices after the rest: (inputs, nodes, values to
        return, checks)."""
        checks, limits = self.text.checks_of(nodes)
        if not checks:
            return inputs, nodes, returned, checks
        returned = [*returned, *(limits if self.lowering.reads_limits else [self.text.within(checks, limits)])]
        return *self.text.live(returned), returned, checks

    def _physical(self, node, value):
        layout = layout_of(node.meta["val"])
        return self.text.transpose(value, layout.order) if layout.order else value

    def steps(self, slot_of, updates):
        """`updates`: {fx node that may be made in the memory of an input: the input}."""
        updates = {node: source for node, source in updates.items() if node in self.exports}
        for source in updates.values():
            self.argument(source)  # An input even of a segment that does not read it.
        inputs, nodes, returned, exported = self.live()
        inputs, nodes, returned, checks = self.checked(inputs, nodes, returned)
        copies, outputs = [], []
        # Value -> (slot, order of its dims) of a tensor whose elements lie like the value's.
        lies = {
            value: (slot_of(node), layout.order)
            for (value, _), (node, layout) in zip(self.text.inputs, self.imports)}
        for node, value in exported.items():
            layout = layout_of(node.meta["val"])
            order = layout.order or row_major(layout.shape).order
            physical = self._physical(node, value)
            if physical in lies:
                copies.append(Copy(*lies[physical], slot_of(node), layout))
            else:
                lies[physical] = slot_of(node), order
                outputs.append(SegmentOutput(slot_of(node), node.meta["val"].dtype, layout))
        copied = {copy.source for copy in copies}
        updated = {slot_of(node): slot_of(source) for node, source in updates.items() if slot_of(source) not in copied}
        slots = [slot_of(node) for node, _ in self.imports]
        inputs = sorted({*inputs, *(slots.index(updated[output.slot]) for output in outputs if output.slot in updated)})
        places = {slots[position]: place for place, position in enumerate(inputs)}
        outputs = [output._replace(updates=places.get(updated.get(output.slot))) for output in outputs]
        segment_inputs = [
            SegmentInput(slot_of(node), layout, self.lowering.is_parameter(node))
            for position in inputs for node, layout in [self.imports[position]]]
        if outputs:
            text = self.text.text(inputs, nodes, returned, [output.updates for output in outputs])
            yield Segment(
                text, segment_inputs, outputs, checks, _symbols_of(text, segment_inputs),
                tuple(node.maker for node in nodes))
        yield from copies


def _symbols_of(text, inputs):
    """The symbols that a segment's inputs have as sizes, in the order in which they come up: libstoker numbers them so."""
    symbols = dict.fromkeys(
        size.symbol for source in inputs for size in source.layout.physical_shape
        if isinstance(size, Dim) and size.symbol is not None)
    unknown = symbols_in(text) - symbols.keys()
    if unknown:
        raise Unsupported(f"the size s{min(unknown)}, which no input of a segment has")
    return tuple(symbols)


def _check(node, value, out):
    """A rule must give what PyTorch derived: anything else is not this operator."""
    if value is None or out is None or value.dtype != out.dtype or value.shape != out.shape:
        found = None if value is None else value.type
        raise Unsupported(f"the mapping gives {found} where PyTorch has {out}")
