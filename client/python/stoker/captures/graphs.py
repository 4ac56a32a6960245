"""What a graph needs to run besides its artifacts: the steps around them, and what AOTAutograd's runtime does
for it (inputs that change in place, outputs that share memory). Portable, and back to a callable.
"""

import json
import math
import operator

import torch

from .. import runtime
from ..layout import Layout
from ..program import Copy, EagerCall, IndexCheck, Program, Segment, SegmentInput, SegmentOutput, Slot
from ..pytorch import aot
from ..pytorch.operators import OpOverload
from .values import NotPortable, decode, encode

# ---- Program ----------------------------------------------------------------------------------------


def encode_program(program, request_keys):
    keys = iter(request_keys)
    return {
        "slots": program.slots,
        "constants": [[slot, _encode_constant(tensor)] for slot, tensor in program.constants.items()],
        "steps": [_encode_step(step, keys) for step in program.steps],
        "outputs": [_encode_argument(output) for output in program.outputs],
        "fallbacks": {str(operator): reason for operator, reason in program.fallbacks.items()},
    }


def encode_eager(gm):
    """The graph itself, operator by operator, as the text of a program without segments."""
    slots, constants, steps, outputs = {}, {}, [], ()

    def argument(node):
        return Slot(slots[node])

    for node in gm.graph.nodes:
        if node.op == "output":
            outputs = torch.fx.node.map_arg(node.args[0], argument)
            continue
        if node.op == "get_attr":
            constants[len(slots)] = operator.attrgetter(node.target)(gm)
        if node.op == "call_function":
            arguments, keywords = torch.fx.node.map_arg((node.args, dict(node.kwargs)), argument)
            steps.append(EagerCall(node.target, arguments, keywords, len(slots)))
        slots[node] = len(slots)
    program = Program(len(slots), constants, steps, list(outputs), {})
    return json.dumps(encode_program(program, ()), separators=(",", ":"))


def decode_eager(text):
    return decode_program(json.loads(text))


def module_of(program, inputs):
    """What encode_eager was given, without values of nodes."""
    graph, root = torch.fx.Graph(), torch.nn.Module()
    values = {place: graph.placeholder(f"input_{place}") for place in range(inputs)}
    for slot, tensor in program.constants.items():
        setattr(root, f"constant_{slot}", tensor)
        values[slot] = graph.get_attr(f"constant_{slot}")
    for step in program.steps:
        values[step.slot] = graph.call_function(
            step.target, runtime.filled(values, step.arguments),
            runtime.filled(values, step.keywords))
    graph.output([runtime.filled(values, output) for output in program.outputs])
    return torch.fx.GraphModule(root, graph)


def decode_program(words):
    steps = [_STEPS[kind](body) for kind, body in words["steps"]]
    constants = {int(slot): _decode_constant(body) for slot, body in words["constants"]}
    return Program(
        int(words["slots"]), constants, steps, [_decode_argument(output) for output in words["outputs"]],
        words["fallbacks"])


def _encode_constant(tensor):
    """Where elements come from that a graph holds, nothing says: an empty tensor has none."""
    if type(tensor) is not torch.Tensor or tensor.numel() or tensor.device.type != "cpu" or (
            tensor.layout != torch.strided or tensor.requires_grad):
        raise NotPortable("a graph that holds tensors")
    return [encode(tensor.dtype), list(tensor.shape), list(tensor.stride())]


def _decode_constant(words):
    dtype, shape, strides = words
    return torch.empty_strided(shape, strides, dtype=decode(dtype), device="cpu")


def _encode_step(step, keys):
    if isinstance(step, Segment):
        return ["segment", {
            "key": next(keys),
            "inputs": [
                [source.slot, _encode_layout(source.layout), source.parameter]
                for source in step.inputs],
            "outputs": [
                [output.slot, str(output.dtype), _encode_layout(output.layout)]
                for output in step.outputs],
            "checks": [list(check) for check in step.checks]}]
    if isinstance(step, Copy):
        return ["copy", [
            step.source, list(step.source_order), step.target, _encode_layout(step.layout)]]
    return ["eager", {
        "target": _encode_target(step.target), "arguments": _encode_argument(step.arguments),
        "keywords": _encode_argument(step.keywords), "slot": step.slot,
        "result": step.result and [str(step.result[0]), list(step.result[1])]}]


def _encode_target(target):
    if isinstance(target, OpOverload):
        return encode(target)
    for name, function in _FUNCTIONS.items():
        if function is target:
            return {"function": name}
    raise NotPortable("an eager function that is no operator")


def _decode_target(words):
    if "function" in words:
        return _FUNCTIONS[words["function"]]
    return decode(words)


# What graphs call besides operators.
_FUNCTIONS = {
    **{name: getattr(operator, name) for name in (
        "getitem", "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "neg", "eq", "ne", "lt",
        "le", "gt", "ge", "and_", "or_")},
    **{name: getattr(torch, name) for name in (
        "sym_max", "sym_min", "sym_int", "sym_float", "sym_not", "sym_ite")},
    **{name: getattr(math, name) for name in ("ceil", "floor", "trunc")}}


def _decode_segment(body):
    return Segment(  # Its text is what the request key stands for.
        body["key"], [SegmentInput(slot, _decode_layout(layout), parameter)
             for slot, layout, parameter in body["inputs"]],
        [SegmentOutput(slot, decode({"torch": dtype}), _decode_layout(layout))
         for slot, dtype, layout in body["outputs"]],
        tuple(IndexCheck(*check) for check in body["checks"]))


_STEPS = {
    "segment": _decode_segment,
    "copy": lambda body: Copy(body[0], tuple(body[1]), body[2], _decode_layout(body[3])),
    "eager": lambda body: EagerCall(
        _decode_target(body["target"]), _decode_argument(body["arguments"]),
        _decode_argument(body["keywords"]), body["slot"], _decode_result(body["result"])),
}


def _decode_result(words):
    return words and (decode({"torch": words[0]}), tuple(words[1]))


def _encode_layout(layout):
    return [list(layout.shape), list(layout.strides), layout.order and list(layout.order)]


def _decode_layout(words):
    shape, strides, order = words
    return Layout(tuple(shape), tuple(strides), None if order is None else tuple(order))


def _encode_argument(argument):
    """An argument that may contain Slots."""
    if isinstance(argument, Slot):
        return {"slot": argument.index}
    if isinstance(argument, (list, tuple)):
        name = "list" if isinstance(argument, list) else "tuple"
        return {name: [_encode_argument(item) for item in argument]}
    if isinstance(argument, dict):
        return {"keywords": [[name, _encode_argument(item)] for name, item in argument.items()]}
    return {"value": encode(argument)}


def _decode_argument(words):
    (tag, body), = words.items()
    if tag == "slot":
        return Slot(int(body))
    if tag == "value":
        return decode(body)
    if tag == "keywords":
        return {name: _decode_argument(item) for name, item in body}
    return {"list": list, "tuple": tuple}[tag](map(_decode_argument, body))


# ---- AOTAutograd's runtime --------------------------------------------------------------------------

class InferenceGraph:
    """The callable in place of Dynamo's __compiled_fn: a graph's flat inputs to its outputs."""

    def __init__(self, run, words):
        """`words`: of aot.runtime_words."""
        self._run = run
        self._mutated = [(int(index), bool(copied)) for index, copied in words["mutated"]]
        self._outputs = [
            (str(kind), base, int(distance), bool(requires_grad), str(detached))
            for kind, base, distance, requires_grad, detached in words["outputs"]]
        self._is_plain = not self._mutated and all(kind == "plain" for kind, *_ in self._outputs)
        self._count = len(self._mutated) + len(self._outputs) + int(words["bases"])
        self._grad = words["grad"]

    def __call__(self, *inputs):
        results = aot.as_inference(self._run, list(inputs))
        if not self._is_plain:
            results = self._restore(inputs, results)
        if self._grad is not None:
            aot.set_grad_enabled(self._grad)
        return results

    def _restore(self, inputs, results):
        if len(results) != self._count:
            raise AssertionError(f"{len(results)} results where {self._count} are expected")
        for (index, copied), updated in zip(self._mutated, results):
            if copied:
                target = inputs[index]
                (target.detach() if target.requires_grad else target).copy_(updated)
        results = results[len(self._mutated):]
        return [
            self._output(*how, value, inputs, results)
            for how, value in zip(self._outputs, results)]

    def _output(self, kind, base, distance, requires_grad, detached, value, inputs, results):
        if kind == "plain":
            return value
        if kind == "is_input":
            return inputs[base]
        if kind == "alias_of_input":
            source = inputs[base]
        elif kind in aot.OF_BASE:
            source = results[len(self._outputs) + base]
        else:
            source = results[base]
        if detached == "before":
            source = source.detach()
        alias = source.as_strided(value.size(), value.stride(), source.storage_offset() + distance)
        if detached == "last" or source.requires_grad and not requires_grad:
            return alias.detach()
        return alias.requires_grad_() if requires_grad and not source.requires_grad else alias


def make_callable(words, run, failed):
    """A function of the flat inputs. `run`: a function of the list of them. When an artifact fails in it,
    failed(error) is called, and the graph runs in eager from then on: the frame that called it is half
    done, so it can be neither left nor traced again."""

    def in_eager(error):
        failed(error)
        return runtime.run_of(decode_eager(words["eager"]), ())

    return InferenceGraph(runtime.rescued(run, in_eager), words["runtime"])
