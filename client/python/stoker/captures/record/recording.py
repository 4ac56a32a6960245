"""What the backend tells about the graphs of a frame that is being recorded.

A frame is recorded on one thread, and Dynamo holds a lock meanwhile; frames nest when tracing calls code
that is compiled too.
"""

import functools
import threading
import types
import weakref
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from ...graph.devices import device_of
from ...pytorch import aot, dynamo_graph
from ...pytorch.aot_runtime.training_words import training_words
from ...pytorch.aot_runtime.words import runtime_words
from ...pytorch.marks import innermost
from ...pytorch.names import TRAINING
from ...pytorch.operators import OpOverload, OpOverloadPacket, python_functions
from ...pytorch.sizes import SYMBOLIC, is_of_a_run
from ..trust import features
from ..words.graphs import encode_eager, encode_program, input_text
from ..words.installed import is_installed_function
from ..words.values import NotPortable
from .views import views_of

_recorded = threading.local()

_OF_PYTORCH = frozenset(("aten", "prims", "prim", "_c10d_functional", "torchvision"))
_WITH_CODE_BESIDE = ("triton_kernel_wrapper", "flat_apply")  # Of higher-order operators: kernels and functions are in a table.
ATTRIBUTE = "_stoker_graph"  # Of a compiled function: its GraphRecord.


class GraphRecord(NamedTuple):
    words: Any  # JSON, or None where the graph is not portable,
    reason: str  # and why.
    first_call: Any = None  # Of _Graph.mark.
    held: tuple = ()  # Weak references to tensors that Dynamo's graph holds, the first inputs of this one.


class Training(NamedTuple):
    """That a graph has another one behind it, `backward`, which computes gradients; None where PyTorch alone knows it. The rest:
    of words_of_sized."""

    backward: Any
    symbolic: Any = ()
    sources: Any = ()
    varying: Any = None
    options: Any = None


class _Graph:
    """One graph on its way through AOTAutograd."""

    def __init__(self, gm, input_count):
        self.input_count = input_count
        self.records = []
        self.device = None  # Of what was recorded.
        self.backward = None  # The record of the backward graph.
        self._called = _called(gm)
        self._hidden = _hidden(gm)
        self._has_context = dynamo_graph.has_context_of_checkpoint(gm)
        self._for_effect = dynamo_graph.for_their_effect(gm)
        self.made = dynamo_graph.made_of_numbers(gm)

    def require_portable(self, functional):
        """NotPortable where Dynamo's graph calls code of the program, which made the functional graph what it is."""
        if self._hidden:
            raise NotPortable(f"a graph that holds what nothing tells, {self._hidden[0]}")
        for name in self._for_effect:
            raise NotPortable(f"a call that changes PyTorch's state while it is traced, {name}")
        left = {str(target).rpartition(".")[0] for target in _called(functional)}
        for target in self._called:
            if isinstance(target, types.FunctionType):
                if not is_installed_function(target):
                    raise NotPortable(f"a function that stays in the graph, {target.__qualname__}")
            elif isinstance(target, OpOverload | OpOverloadPacket):
                name = str(target if isinstance(target, OpOverloadPacket) else target.overloadpacket)
                if name.partition(".")[0] in _OF_PYTORCH:
                    continue
                if name not in left:
                    raise NotPortable(f"an operator that is made of others, {name}")
                functions = python_functions(target)
                if functions is None:
                    raise NotPortable(f"an operator that says in no Python function what it gives, {name}")
                _recorded.leaves += [name, *functions]

    def require_no_formulas(self):
        """NotPortable where a gradient may be computed by what the program says, which ran while PyTorch traced it."""
        if self._has_context:
            raise NotPortable("a checkpoint with a context of the program's")
        for target in self._called:
            if isinstance(target, types.FunctionType) and target.__module__.partition(".")[0] != "torch":
                raise NotPortable(f"a graph for training with a function that stays in it, {target.__qualname__}")
            if isinstance(target, OpOverload | OpOverloadPacket):
                name = str(target if isinstance(target, OpOverloadPacket) else target.overloadpacket)
                if name.partition(".")[0] not in _OF_PYTORCH:
                    raise NotPortable(f"a graph for training with an operator that PyTorch does not bring, {name}")

    def words_of_backward(self, options):
        """The record of the backward graph, where what is compiled with these options belongs to it, or None."""
        if self.backward is None or self.backward["options"] != _words_of_options(options):
            return None
        return self.backward

    def updates(self):
        """(what AOTAutograd's runtime does around it in words, its device) of a graph of fixed sizes that changes inputs, and has no
        other one behind it; None for others."""
        words = self.records[0].words if len(self.records) == 1 else None
        if words is None or "program" not in words or "backward" in words or not words["runtime"]["mutated"]:
            return None
        return words["runtime"], self.device

    def mark(self, function, first_call=None):
        """The function that Dynamo gets for the graph, with its record. `first_call`: a runtime.first_calls.FirstCall, where
        it has to be taken before a capture may be stored."""
        if len(self.records) == 1:
            record = self.records[0]._replace(first_call=first_call)
        else:
            record = GraphRecord(None, "a graph that runs in eager")
        setattr(innermost(function), ATTRIBUTE, record)
        return function


@contextmanager
def frame():
    """Graphs compiled inside belong to a frame that is being recorded. Gives a list, to which the functions in them
    come: AOTAutograd has run these, and all that they call. So do the names of custom operators, and what they run."""
    outer = getattr(_recorded, "graphs", None), getattr(_recorded, "leaves", None)
    _recorded.graphs, _recorded.leaves = [], []
    try:
        yield _recorded.leaves
    finally:
        _recorded.graphs, _recorded.leaves = outer


@contextmanager
def graph(gm, example_inputs):
    """The graph that is compiled inside. `gm`: as Dynamo has it."""
    opened = _Graph(gm, len(example_inputs))
    graphs = getattr(_recorded, "graphs", None)
    if graphs is not None:
        graphs.append(opened)
        _recorded.leaves += [target for target in _called(gm) if isinstance(target, types.FunctionType)]
    try:
        yield opened
    finally:
        if graphs is not None:
            graphs.remove(opened)


def note_program(gm, program, compiled, training):
    """Called with each graph that was compiled, while AOTAutograd's metadata is at hand. `compiled`: of
    lowering.compiling.Compiled; `training`: a Training, or None."""
    _note(gm, training, lambda made: {
        "program": encode_program(program, compiled.request_keys, made), "reads_numerics": compiled.reads_numerics})


def note_sized(gm, symbolic, sources, varying, parameters, options, training):
    """The same for a graph with symbolic sizes, of which nothing is compiled yet. `sources`, `varying`: of
    lowering.symbols.inputs_of. Its record, or None."""
    return _note(gm, training, lambda _: _words_of_sized(symbolic, sources, varying, parameters, options))


def words_of_part(gm, symbolic, sources, varying, parameters, options):
    """The record of a part of a graph that note_sized() has one of; None where it is not portable."""
    try:
        return {
            **_words_of_sized(symbolic, sources, varying, parameters, options), "eager": encode_eager(gm),
            "runtime": {"inputs": len(gm.graph.find_nodes(op="placeholder")), "mutated": []}}
    except NotPortable:
        return None


def _words_of_sized(symbolic, sources, varying, parameters, options):
    return {
        "symbols": [list(source) for source in sources],
        "varying": {str(place): text for place, text in varying.items()},
        "symbolic": list(symbolic), "parameters": list(parameters), "options": _words_of_options(options),
        "reads_numerics": True}  # It may, for some sizes.


def _words_of_options(options):
    return [options.numerics, options.verify]


def note_traced(gm, training):
    """The same for a graph that is not to be compiled, as in an audit."""
    _note(gm, training, lambda _: {"reads_numerics": False})


def _note(gm, training, words_of_kind):
    graphs = getattr(_recorded, "graphs", None)
    if not graphs:
        return None
    opened = graphs[-1]
    try:
        opened.require_portable(gm)
        inputs = [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]
        held = aot.held()
        if len(inputs) != opened.input_count + len(held):
            raise NotPortable("a graph whose inputs are not the frame's")
        if held and training is not None:
            raise NotPortable("a graph for training that holds tensors")
        words = {
            **words_of_kind(opened.made),
            "eager": encode_eager(gm, opened.made),
            "runtime": runtime_words(aot.metadata(), inputs, _results(gm))}
        runtime = words["runtime"]
        runtime["views"] = views_of(gm, runtime["outputs"], len(runtime["mutated"]))
        if training is not None:
            opened.backward = _add_training(words, opened, gm, training)
        opened.records.append(GraphRecord(words, "", held=tuple([weakref.ref(tensor) for tensor in held])))
        opened.device = device_of(gm)
        return words
    except NotPortable as error:
        opened.records.append(GraphRecord(None, str(error)))
        return None


def _add_training(words, opened, gm, training):
    """To the words of a forward graph. Gives the record of the backward one."""
    if not features.may_be_on(TRAINING):
        raise NotPortable(f"{TRAINING}, which are off")
    backward = training.backward
    if backward is None:
        raise NotPortable("a graph for training that PyTorch alone has parted")
    opened.require_no_formulas()
    words["runtime"]["training"] = training_words(aot.metadata(), gm, backward)
    values = [node.meta.get("val") for node in backward.graph.find_nodes(op="placeholder")]
    if any(is_of_a_run(value) for value in values if isinstance(value, SYMBOLIC)):
        raise NotPortable("a backward graph that is given what only a run knows")
    words["backward"] = {
        **_words_of_sized(training.symbolic, training.sources, training.varying, (), training.options),
        "inputs": None if training.symbolic else [input_text(value) for value in values],
        "eager": encode_eager(backward, opened.made),
        "runtime": {
            "inputs": len(values), "mutated": [], "tangents": len(words["runtime"]["training"]["tangents"])}}
    words["reads_numerics"] = True  # The backward may.
    return words["backward"]


def _called(gm):
    """In it, and in the graphs that its operators run."""
    graphs = [module.graph for module in gm.modules() if isinstance(module, torch.fx.GraphModule)]
    return [node.target for graph in graphs for node in graph.nodes if node.op == "call_function"]


def _hidden(gm):
    """What a graph does with code that stands in none: functions that torch.compiler.nonstrict_trace marks, kernels in Triton."""
    graphs = [module for module in gm.modules() if isinstance(module, torch.fx.GraphModule)]
    held = [
        functools.reduce(getattr, node.target.split("."), module)
        for module in graphs for node in module.graph.find_nodes(op="get_attr")]
    return [
        *(type(value).__qualname__ for value in held if not isinstance(value, (torch.Tensor, torch.fx.GraphModule))),
        *(name for name in map(str, _called(gm)) if name.startswith(_WITH_CODE_BESIDE))]


def _results(gm):
    output, = gm.graph.find_nodes(op="output")
    return [
        result.meta.get("val") if isinstance(result, torch.fx.Node) else result for result in output.args[0]]


def record_of(function):
    """The record of a compiled function, below what Dynamo wrapped it in."""
    return getattr(innermost(function), ATTRIBUTE, None) or GraphRecord(
        None, "a graph of another kind")
