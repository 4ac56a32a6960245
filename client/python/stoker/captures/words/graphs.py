"""A graph's steps around its artifacts, and the graph itself, operator by operator: portable, and back."""

import itertools
import json
import math
import operator

import torch

from ...graph.assumptions import condition_of
from ...graph.devices import gpus_of
from ...graph.dims import Dim, from_words, to_words
from ...graph.layout import Layout
from ...graph.program import (
    Copy, EagerCall, IndexCheck, Part, Program, Segment, SegmentInput, SegmentOutput, Slot, SymbolSource, filled)
from ...pytorch.devices import CPU, kind_of, placed
from ...pytorch.joint_graph import TANGENTS
from ...pytorch.operators import OpOverload, look_at_real_tensors
from .values import NotPortable, decode, encode


_MAX_ELEMENTS = 4_096  # Of a tensor that a graph holds.


def encode_program(program, request_keys, known=()):
    """`known`: the tensors that it may hold, of which it is known where their elements come from."""
    keys = iter(request_keys)
    return {
        "slots": program.slots,
        "constants": [[slot, _encode_constant(value, known)] for slot, value in program.constants.items()],
        "steps": [_encode_step(step, keys) for step in program.steps],
        "outputs": [_encode_argument(output) for output in program.outputs],
        "fallbacks": {str(operator): reason for operator, reason in program.fallbacks.items()},
        "symbols": [list(source) for source in program.symbols],
        "conditions": [condition.words() for condition in program.conditions],
        "device": program.device,
    }


def encode_eager(gm, known=()):
    """The graph itself, operator by operator, as the text of a program without segments. It names no GPU by number."""
    if len(gpus_of(gm)) > 1:
        raise NotPortable("a graph on several GPUs")
    program, returned = _without_segments(gm)
    return json.dumps(encode_program(program._replace(outputs=list(returned)), (), known), separators=(",", ":"))


def _without_segments(gm):
    """(program without outputs, what the graph returns)."""
    slots, constants, steps, returned = {}, {}, [], ()

    def argument(node):
        return Slot(slots[node])

    for node in gm.graph.nodes:
        if node.op == "output":
            returned = torch.fx.node.map_arg(node.args[0], argument)
            continue
        if node.op == "get_attr":
            constants[len(slots)] = operator.attrgetter(node.target)(gm)
        if node.op == "call_function":
            arguments, keywords = torch.fx.node.map_arg((node.args, dict(node.kwargs)), argument)
            steps.append(EagerCall(node.target, arguments, keywords, len(slots)))
        slots[node] = len(slots)
    return Program(len(slots), constants, steps, [], {}), returned


def decode_eager(text, device):
    return decode_program(json.loads(text), device)


def input_text(value):
    """All that a program depends on of an input, but a tensor's elements."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {value.device.type} {tuple(value.shape)} {value.stride()}"
    return f"{type(value).__name__} {value.hex() if isinstance(value, float) else value}"


def module_of(program, inputs, returned=None, tangents=0):
    """What encode_eager was given, without values of nodes. `returned`: if not a list of the program's outputs; `tangents`: how
    many of the inputs, the last ones, are gradients."""
    graph, root = torch.fx.Graph(), torch.nn.Module()
    values = {
        place: graph.placeholder(f"{'input' if place < inputs - tangents else TANGENTS}_{place}") for place in range(inputs)}
    for slot, value in program.constants.items():
        setattr(root, f"constant_{slot}", value)
        values[slot] = graph.get_attr(f"constant_{slot}")
    for step in program.steps:
        values[step.slot] = graph.call_function(
            step.target, filled(values, step.arguments),
            filled(values, step.keywords))
    graph.output(filled(values, program.outputs if returned is None else returned))
    return torch.fx.GraphModule(root, graph)


def decode_program(words, device=CPU):
    """`device`: on which of its kind eager operators make tensors."""
    steps = [_STEPS[kind](body) for kind, body in words["steps"]]
    if device.type != "cpu":
        steps = [placed(step, device) if isinstance(step, EagerCall) else step for step in steps]
    constants = {int(slot): _decode_constant(body) for slot, body in words["constants"]}
    return Program(
        int(words["slots"]), constants, steps, [_decode_argument(output) for output in words["outputs"]],
        words["fallbacks"], tuple(SymbolSource(*source) for source in words["symbols"]),
        tuple(condition_of(each) for each in words["conditions"]), str(words["device"]))


def _encode_constant(value, known):
    """Of elements that a graph holds nothing says where they come from, but of those that are `known`: an empty tensor has
    none. A graph is one that an operator runs."""
    if isinstance(value, torch.fx.GraphModule):
        return {"graph": _encode_graph(value)}
    if type(value) is not torch.Tensor or value.device.type != "cpu" or value.layout != torch.strided or value.requires_grad:
        raise NotPortable("a graph that holds tensors")
    if value.numel():
        words = _elements(value)
        if value.numel() > _MAX_ELEMENTS or words not in (_elements(each) for each in known):
            raise NotPortable("a graph that holds tensors")
        return {"elements": words}
    return {"empty": [encode(value.dtype), list(value.shape), list(value.stride())]}


def _elements(tensor):
    """Row-major: a constant that is read alone."""
    with look_at_real_tensors():
        return [encode(tensor.dtype), list(tensor.shape), bytes(tensor.reshape(-1).view(torch.uint8).tolist()).hex()]


def _encode_graph(gm):
    """[how many inputs it has, its words, those of what it returns]."""
    if gpus_of(gm):
        raise NotPortable("a graph that an operator runs on a GPU")
    inputs = len(gm.graph.find_nodes(op="placeholder"))
    if any(node.op != "placeholder" for node in itertools.islice(gm.graph.nodes, inputs)):
        raise NotPortable("a graph whose inputs do not come first")
    program, returned = _without_segments(gm)
    return [inputs, encode_program(program, ()), _encode_argument(returned)]


def _decode_constant(words):
    (tag, body), = words.items()
    return _CONSTANTS[tag](*body)


_CONSTANTS = {
    "graph": lambda inputs, words, returned: module_of(decode_program(words), int(inputs), _decode_argument(returned)),
    "elements": lambda dtype, shape, elements: torch.frombuffer(
        bytearray.fromhex(elements), dtype=decode(dtype)).reshape(shape),
    "empty": lambda dtype, shape, strides: torch.empty_strided(shape, strides, dtype=decode(dtype), device="cpu"),
}


def _encode_step(step, keys):
    if isinstance(step, Segment):
        return ["segment", {
            "key": next(keys),
            "inputs": [
                [source.slot, _encode_layout(source.layout), source.parameter]
                for source in step.inputs],
            "outputs": [
                [output.slot, str(output.dtype), _encode_layout(output.layout), output.updates]
                for output in step.outputs],
            "checks": [
                [check.place, to_words(check.low), to_words(check.size), check.message] for check in step.checks],
            "symbols": list(step.symbols)}]
    if isinstance(step, Copy):
        return ["copy", [
            step.source, list(step.source_order), step.target, _encode_layout(step.layout)]]
    return ["eager", {
        "target": _encode_target(step.target), "arguments": _encode_argument(step.arguments),
        "keywords": _encode_argument(step.keywords), "slot": step.slot,
        "result": step.result and [str(step.result[0]), [to_words(each) for each in step.result[1]]]}]


def _encode_target(target):
    if isinstance(target, Part):
        if target.words is None:
            raise NotPortable("a part of a graph")
        return {"part": target.words}
    if isinstance(target, OpOverload):
        return encode(target)
    for name, function in _FUNCTIONS.items():
        if function is target:
            return {"function": name}
    raise NotPortable(f"an eager function that is no operator, {getattr(target, '__name__', target)}")


def _decode_target(words):
    if "function" in words:
        return _FUNCTIONS[words["function"]]
    if "part" in words:
        return Part(words["part"])
    return decode(words)


# What graphs call besides operators.
_FUNCTIONS = {
    **{name: getattr(operator, name) for name in (
        "getitem", "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "neg", "eq", "ne", "lt",
        "le", "gt", "ge", "and_", "or_")},
    **{name: getattr(torch, name) for name in (
        "sym_max", "sym_min", "sym_int", "sym_float", "sym_not", "sym_ite", "sym_sum") if hasattr(torch, name)},
    **{name: getattr(math, name) for name in ("ceil", "floor", "trunc")},
    **{name: getattr(torch.ops.higher_order, name) for name in ("while_loop", "scan", "cond")
       if hasattr(torch.ops.higher_order, name)}}


def _decode_segment(body):
    return Segment(  # Its text is what the request key stands for.
        body["key"], [SegmentInput(slot, _decode_layout(layout), parameter)
             for slot, layout, parameter in body["inputs"]],
        [SegmentOutput(slot, decode({"torch": dtype}), _decode_layout(layout), updates)
         for slot, dtype, layout, updates in body["outputs"]],
        tuple(
            IndexCheck(place, from_words(low), from_words(size), message)
            for place, low, size, message in body["checks"]),
        tuple(body["symbols"]))


_STEPS = {
    "segment": _decode_segment,
    "copy": lambda body: Copy(body[0], tuple(body[1]), body[2], _decode_layout(body[3])),
    "eager": lambda body: EagerCall(
        _decode_target(body["target"]), _decode_argument(body["arguments"]),
        _decode_argument(body["keywords"]), body["slot"], _decode_result(body["result"])),
}


def _decode_result(words):
    return words and (decode({"torch": words[0]}), tuple(from_words(each) for each in words[1]))


def _encode_layout(layout):
    return [
        [to_words(each) for each in layout.shape], [to_words(each) for each in layout.strides], layout.order and list(layout.order)]


def _decode_layout(words):
    shape, strides, order = words
    return Layout(
        tuple(from_words(each) for each in shape), tuple(from_words(each) for each in strides), None if order is None else tuple(order))


def _encode_argument(argument):
    """An argument that may contain Slots."""
    if isinstance(argument, Slot):
        return {"slot": argument.index}
    if isinstance(argument, (list, tuple)):
        name = "list" if isinstance(argument, list) else "tuple"
        return {name: [_encode_argument(item) for item in argument]}
    if isinstance(argument, dict):
        return {"keywords": [[name, _encode_argument(item)] for name, item in argument.items()]}
    if isinstance(argument, Dim):
        return {"dim": to_words(argument)}
    if isinstance(argument, torch.device):
        argument = kind_of(argument)
    return {"value": encode(argument)}


def _decode_argument(words):
    (tag, body), = words.items()
    if tag == "slot":
        return Slot(int(body))
    if tag == "value":
        return decode(body)
    if tag == "dim":
        return from_words(body)
    if tag == "keywords":
        return {name: _decode_argument(item) for name, item in body}
    return {"list": list, "tuple": tuple}[tag](_decode_argument(each) for each in body)
