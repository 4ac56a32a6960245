"""One segment in the making: what is mapped to nodes of a graph's text, and what comes in and goes out."""

import functools

import torch

from ..aten_ops import Unsupported
from ..graph.dims import Dim
from ..graph.layout import DTYPES, is_tensor, layout_of, row_major
from ..graph.program import Copy, EagerCall, Segment, SegmentInput, SegmentOutput
from ..graph.text import GraphText, symbols_in
from ..graph.values import Value
from . import hosting, targets
from .draws import may_draw
from .mapping import Mapping, type_of


# What a number may be that libstoker takes as a size, and one that an interpreter does.
MOST_SAID, MOST_INTERPRETED = 1 << 42, 1 << 24


class Level(Mapping):
    """`lowering`: of lower.py, which it is a level of."""

    def __init__(self, lowering):
        super().__init__(GraphText(absent=targets.ABSENT[lowering.device.type]), lowering.device)
        self.lowering = lowering
        self.text.has_attention = functools.partial(targets.has_attention, lowering.device.type)
        self.text.evaluate = self._evaluate
        self.imports = []  # (fx node, Layout), in the order of the text's inputs.
        self.exports = {}  # fx node -> None: what is needed outside, in order.
        self.last_draw = None  # What the last call that draws gave, as it lies.

    def missing(self, node, known):
        if node in self.lowering.graphs:
            return self.lowering.graphs[node]
        if not is_tensor(known):
            return super().missing(node, known)
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
            if known is value:
                return self.lowering.known.tensor(node)
        return None

    def finished(self, node, result):
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
        call, sources = hosting.call_of(node, results, awaited)
        operands = []
        for source in sources:
            value = self.node_argument(source)
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
        returned = [*returned, *(limits if self.lowering.reads_limits else [self.text.required(checks, limits)])]
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
            updates = [output.updates for output in outputs]
            text = self.text.text(inputs, nodes, returned, updates)
            for number in sorted(symbols_in(text) - set(_symbols_of(segment_inputs))):
                call, layout = self._saying(number, slot_of)
                yield call
                inputs = [*inputs, len(self.text.inputs) - 1]
                segment_inputs.append(SegmentInput(call.slot, layout, False))
                text = self.text.text(inputs, nodes, returned, updates)
            yield Segment(
                text, segment_inputs, outputs, checks, _symbols_of(segment_inputs),
                tuple(node.maker for node in nodes for _ in range(1 + node.attributes.count("\n"))))
        yield from copies

    def _saying(self, number, slot_of):
        """(a call that gives an input without elements, its Layout): it has the symbol as a size, where no other input does.
        Unsupported for what is no size of any tensor: a number that may be negative."""
        given = next((
            size for node in self.lowering.gm.graph.nodes for size in _sizes_of(node.meta.get("val"))
            if isinstance(size, Dim) and size.symbol == number), None)
        # An interpreter beside, for which nothing is drawn inside, counts up to it.
        most = MOST_SAID if self.lowering.draws_inside else MOST_INTERPRETED
        if given is None or not 0 <= given <= most:
            raise Unsupported(f"the number s{number}, which is no size")
        shape = (given, 0)
        self.text.input("bool", shape)
        return EagerCall(
            torch.ops.aten.empty.memory_format, (shape,), {"dtype": torch.bool, "device": self.lowering.device},
            slot_of(("size", number))), row_major(shape)


def _sizes_of(value):
    """Or the number itself."""
    return value.shape if is_tensor(value) else (value,)


def _symbols_of(inputs):
    """The symbols that a segment's inputs have as sizes, in the order in which they come up: libstoker numbers them so."""
    return tuple(dict.fromkeys(
        size.symbol for source in inputs for size in source.layout.physical_shape
        if isinstance(size, Dim) and size.symbol is not None))
