"""From a frame that Dynamo has just transformed to a capture, as JSON."""

import abc
import enum
import json
import re
import sys
import types

import torch

from ...pytorch.bytecode import resume_of
from ...pytorch.marks import COMPILER
from ...pytorch.state import asked_for
from ...pytorch.tensors import are_apart
from ..bytecode import instructions
from ..bytecode.lines import asks_for_lines
from ..bytecode.reads import ALL, texts_in, together
from ..premises.constants import constants_of
from ..premises.environment import environment_of
from ..premises.facts import asked_of_modules, facts_of
from ..premises.imported import imported_of
from ..premises.members import members_of
from ..premises.objects import kinds_of, objects_of, tensors_of
from ..premises.packages import answering, installed_of
from ..premises.reach import Reached
from ..premises.renamed import own_names
from ..premises.sameness import identities_of
from ..premises.shown_sets import met_by_guards, shown_sets
from ..premises.trees import trees_of
from ..premises.untraced import untraced_of
from ..store.key import FORMAT
from ..words.code import attributes_of_global, encode_code, global_names
from ..words.digests import digest_of
from ..words.generated import makers_in
from ..words.identity import Describer
from ..words.paths import root_of
from ..words.values import NotPortable, encode
from ..words.versions import packages
from .guards import GuardWriter
from .recording import record_of

_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")  # As in the default text of an object.
_MAX_NAME = 200  # Characters of a text that may name something.
_RESUMES = "__resume_at"
# Kinds of values of which it shows nowhere whether two are one object, or which are one in every process.
_SINGLE = (bool, int, float, complex, str, bytes, enum.Enum, type, torch.dtype, torch.layout, torch.memory_format, torch.device)
_GRAPH = "__compiled_fn"
_DYNAMO_NAMES = ("__import_", "__builtins_dict__", _GRAPH, _RESUMES)


def build(key, scope, state, loaded, trace, leaves, new_code, entry_code):
    """`scope`, `state`, `loaded` (names of modules): of when the frame was entered; `trace`: pytorch.frames.Trace; `leaves`: of
    recording.frame. Gives the capture, and FirstCalls to be taken before anybody else uses it; NotPortable says why none."""
    try:
        return _built(key, scope, state, loaded, trace, leaves, new_code, entry_code)
    finally:
        instructions.forget()


def _built(key, scope, state, loaded, trace, leaves, new_code, entry_code):
    _require_portable_graphs(scope, new_code)  # First: the rest takes seconds.
    writer = GuardWriter(scope, trace)
    resumed = _resumed(scope, new_code)
    reached = Reached(trace.traced_code, trace.places, resumed, leaves, _met(writer), trace.scopes)
    names, texts = reached.names(), reached.texts() | _texts_in_guards(writer) | texts_in(trace.texts)
    asked = _asked_by_text(reached, texts, trace.texts)
    names = together((names, asked, own_names(reached, writer.paths.nodes, writer.values)))
    shown = shown_sets(reached, met_by_guards(writer.paths.nodes, writer.values))
    describe = Describer(
        names, enumerates=reached.enumerates, orders=any(shown), lines=asks_for_lines(names, reached.of_programs))
    for maker in makers_in([new_code, *resumed]):
        describe.refer_to(maker.__self__)
    writer.write(describe)
    optimizers, described = writer.optimizers.words(writer.paths.nodes, writer.values, describe, writer.paths.of)
    objects = objects_of(writer.values, describe)
    # Last of what describes: the classes that all others refer to.
    facts = facts_of(
        reached, reached.modules | _modules_met(writer), describe, ALL if names is ALL else asked, entry_code)
    reached.run_functions += answering(asked_of_modules(facts), reached.asked_by_programs)
    classes = reached.classes | set(describe.referred.values())
    record = {
        "format": FORMAT,
        "key": [list(field) for field in key.fields],
        "nodes": writer.paths.nodes,
        "guards": writer.guards,
        "distinct": writer.distinct,
        "shapes": writer.shapes,
        "optimizers": optimizers,
        "names": names if names is ALL else sorted(names),
        "enumerates": describe.enumerates,
        "orders": describe.orders,
        "lines": describe.lines,
        "objects": objects,
        "tensors": tensors_of(writer.values, describe),
        "members": members_of(writer.paths.nodes, writer.values, reached.chains) if reached.catches else [],
        "identities": identities_of(writer.values, reached, describe),
        "compares_identity": reached.compares_identity,
        "kinds": kinds_of(writer.paths.nodes, writer.values, classes | _classes_met(writer)),
        "facts": facts,
        "imported": imported_of(reached, loaded),
        "packages": packages(),
        "constants": constants_of(trace.constant_calls),
        "environment": environment_of(
            reached, texts, writer.paths.nodes, writer.values, trace, describe.of_process, shown),
        "trees": trees_of(reached, classes | _classes_met(writer)),
        "untraced": untraced_of(reached, writer.values, describe.orders),
        "installed": installed_of(reached),
    }
    prefix = f"__stoker_{digest_of(key.digest, json.dumps([record, state], sort_keys=True))}_"
    made = _Globals(scope.global_values, trace.installed_globals, _names_said(entry_code, trace), prefix, described)
    made.collect(new_code)
    _require_no_addresses(new_code, trace.texts)
    record["code"] = encode_code(new_code, made.renamed, scope.global_values)
    record |= {"globals": made.words, "graphs": _require_something_compiled(key, made.graphs)}
    reads_numerics = any(graph["reads_numerics"] for graph in made.graphs)
    record["state"] = asked_for(state, lambda name: names is ALL or name in names, reads_numerics)
    if record.setdefault("apart", any(graph["runtime"]["mutated"] for graph in made.graphs)):
        _require_separate_memory(writer)
    return record, made.first_calls


def _asked_by_text(reached, texts, met):
    """Names of attributes that come as values. `met`: texts that were constants while Dynamo traced."""
    return texts.union(text for text in met if len(text) <= _MAX_NAME) if reached.asks_by_text else set()


def _require_portable_graphs(scope, code):
    for name in sorted(global_names(code)):
        if name.startswith(_GRAPH) and name in scope.global_values:
            _graph_of(scope.global_values[name])


def _graph_of(function):
    graph = record_of(function)
    if graph.words is None:
        raise NotPortable(graph.reason)
    return graph


def _resumed(scope, code):
    """Code objects of what Dynamo made to go on from where the graph breaks."""
    found = (resume_of(scope.global_values.get(name)) for name in global_names(code) if name.startswith(_RESUMES))
    return [resume.code for resume in found if resume is not None]


def _names_said(entry_code, trace):
    """Global names that the program's code says: a new code's other ones are Dynamo's."""
    return set().union(*(global_names(code) for code in (entry_code, *trace.traced_code)))


def _require_something_compiled(key, graphs):
    """`graphs`. A frame that calls another one, in which the graph breaks, has no guards on what made it break. Where the other one is the
    program's, its own captures do; a layer of PyTorch's is compiled as a part of this or not at all, by what a program brings."""
    if not graphs and key.entry.startswith("torch.nn."):
        raise NotPortable("a layer of PyTorch's of which nothing is compiled")
    return graphs


def _require_no_addresses(code, texts):
    """`texts`: those that were constants while Dynamo traced: what is computed of one need not hold it."""
    for constant in (*code.co_consts, *texts):
        if isinstance(constant, types.CodeType):
            _require_no_addresses(constant, ())
        elif isinstance(constant, str) and _ADDRESS.search(constant):
            raise NotPortable("a text that holds an address")


def _met(writer):
    """What guards are about, without modules in which they look for something."""
    return [value for (_, step, _), value in zip(writer.paths.nodes, writer.values) if step != "module"]


def _modules_met(writer):
    """Those that objects hold: code has them as values. Those that the compiler's modules hold are its own."""
    nodes = writer.paths.nodes
    return {
        value for place, (node, value) in enumerate(zip(nodes, writer.values))
        if isinstance(value, types.ModuleType) and node[1] != "module" and not _is_compilers(root_of(nodes, place))}


def _is_compilers(root):
    _, step, name = root
    return step == "module" and name.startswith(COMPILER)


def _classes_met(writer):
    return {value for value in writer.values if isinstance(value, abc.ABCMeta)}


def _texts_in_guards(writer):
    """Texts that guards compare, or that are keys: code gets them as values."""
    writer.write(_Draft())
    return texts_in([expected for _, _, expected, _ in writer.guards])


class _Draft(Describer):
    """Of what has no words without names, there is nothing to say yet."""

    def _owner(self, value):
        try:
            return super()._owner(value)
        except NotPortable:
            return None


class _Globals:
    """What Dynamo put into the frame's globals for the new code: graphs, resume functions, modules, values.
    They get names of their own, so that no later trace puts something else under them."""

    def __init__(self, global_values, installed, said, prefix, described):
        """`described`: of the optimizers that hold what graphs hold, or None."""
        self.words = []  # [name, kind, body]
        self.renamed = {}
        self.graphs, self.first_calls = [], []
        self._global_values = global_values
        self._installed = installed
        self._said = said
        self._prefix = prefix
        self._described = described

    def collect(self, code):
        for name in sorted(global_names(code)):
            is_dynamos = name in self._installed or name.startswith(_DYNAMO_NAMES)
            if is_dynamos and name not in self._global_values:
                raise NotPortable("a global that Dynamo keeps no longer")
            if name in self.renamed or name not in self._global_values:
                continue
            if name in self._installed or name.startswith(_DYNAMO_NAMES):
                self._collect_name(code, name, self._global_values[name])
            elif name not in self._said:
                self._collect_result(code, name, self._global_values[name])

    def _collect_name(self, code, name, value):
        self.renamed[name] = new_name = f"{self._prefix}{len(self.renamed)}"
        if isinstance(value, types.ModuleType) and value.__name__ == f"{COMPILER}.utils":
            self.words.append([new_name, "dynamo", attributes_of_global(code, name)])
        elif isinstance(value, types.ModuleType):
            self.words.append([new_name, "module", value.__name__])
        elif name.startswith("__builtins_dict__"):
            self.words.append([new_name, "builtins", None])
        elif name.startswith(_GRAPH):
            graph = _graph_of(value)
            self.words.append([new_name, "graph", len(self.graphs)])
            self.graphs.append(self._with_held(graph))
            self.first_calls += [graph.first_call] if graph.first_call is not None else []
        elif name.startswith(_RESUMES) and isinstance(value, types.FunctionType):
            resume = resume_of(value)
            if resume is None or resume.global_values is not self._global_values:
                raise NotPortable("a resume function with state")
            code = encode_code(resume.code, {}, self._global_values)
            self.words.append([new_name, "maker" if resume.is_made else "function", code])
        else:
            self.words.append([new_name, "value", encode(value)])

    def _with_held(self, graph):
        """Its words, with the numbers of the tensors that it holds."""
        if not graph.held:
            return graph.words
        numbers = [None if self._described is None else self._described.number_of(tensor()) for tensor in graph.held]
        if None in numbers:
            raise NotPortable("a graph that holds a tensor that no optimizer does")
        return {**graph.words, "held": numbers}

    def _collect_result(self, code, name, value):
        """Of a function whose result counts as constant, where code goes on with it: what may be another object. Or a module by
        which Dynamo makes a tensor of an array."""
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
            self._collect_name(code, name, value)
            return
        if not (value is None or isinstance(value, _SINGLE)):
            raise NotPortable("an object that a function gave whose result counts as constant")
        self.renamed[name] = new_name = f"{self._prefix}{len(self.renamed)}"
        self.words.append([new_name, "value", encode(value)])


def _require_separate_memory(writer):
    if not are_apart([writer.values[place] for place in writer.distinct]):
        raise NotPortable("inputs that change in place and share memory")
