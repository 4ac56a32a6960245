"""From a frame that Dynamo has just transformed to a capture, as JSON."""

import json
import types

from .code import attributes_of_global, encode_code, global_names
from .facts import code_facts
from .guards import GuardWriter
from .identity import Describer, digest_of
from .key import FORMAT
from .paths import COMPILER, evaluate
from .recording import record_of
from .values import NotPortable, encode

_DYNAMO_NAMES = ("__import_", "__builtins_dict__", "__compiled_fn", "__resume_at")


def build(key, scope, state, trace, new_code, entry_code):
    """`scope`, `state`: as they were when the frame was entered; `trace`: pytorch.frames.Trace. NotPortable says
    what keeps the capture in this process."""
    describe = Describer()
    writer = GuardWriter(scope, trace, describe)
    writer.write(trace.guards)
    codes, chains = code_facts(trace.traced_code, describe, entry_code)
    record = {
        "format": FORMAT,
        "key": [list(field) for field in key.fields],
        "nodes": writer.paths.nodes,
        "guards": writer.guards,
        "distinct": writer.distinct,
        "shapes": writer.shapes,
        "state": state,
        "codes": codes,
        "chains": chains,
    }
    prefix = f"__stoker_{digest_of(key.digest, json.dumps(record, sort_keys=True))}_"
    installed = _Globals(scope.global_values, trace.installed_globals, prefix)
    installed.collect(new_code)
    record["code"] = encode_code(new_code, installed.renamed)
    record["globals"] = installed.words
    record["graphs"] = installed.graphs
    record["apart"] = any(graph["runtime"]["mutated"] for graph in installed.graphs)
    if record["apart"]:
        _require_separate_memory(writer, scope)
    return record


class _Globals:
    """What Dynamo put into the frame's globals for the new code: graphs, resume functions, modules, values.
    They get names of their own, so that no later trace puts something else under them."""

    def __init__(self, global_values, installed, prefix):
        self.words = []  # [name, kind, body]
        self.renamed = {}
        self.graphs = []
        self._global_values = global_values
        self._installed = installed
        self._prefix = prefix

    def collect(self, code):
        for name in sorted(global_names(code)):
            if name in self.renamed or name not in self._global_values:
                continue
            if name in self._installed or name.startswith(_DYNAMO_NAMES):
                self._collect_name(code, name, self._global_values[name])

    def _collect_name(self, code, name, value):
        self.renamed[name] = new_name = f"{self._prefix}{len(self.renamed)}"
        if isinstance(value, types.ModuleType) and value.__name__ == f"{COMPILER}.utils":
            self.words.append([new_name, "dynamo", attributes_of_global(code, name)])
        elif isinstance(value, types.ModuleType):
            self.words.append([new_name, "module", value.__name__])
        elif name.startswith("__builtins_dict__"):
            self.words.append([new_name, "builtins", None])
        elif name.startswith("__compiled_fn"):
            graph = record_of(value)
            if graph.words is None:
                raise NotPortable(graph.reason)
            self.words.append([new_name, "graph", len(self.graphs)])
            self.graphs.append(graph.words)
        elif name.startswith("__resume_at") and isinstance(value, types.FunctionType):
            if value.__closure__ or value.__defaults__ or value.__kwdefaults__:
                raise NotPortable("a resume function with state")
            self.words.append([new_name, "function", encode_code(value.__code__, {})])
        else:
            self.words.append([new_name, "value", encode(value)])


def _require_separate_memory(writer, scope):
    values = evaluate(writer.paths.nodes, scope)
    storages = [values[place].untyped_storage().data_ptr() for place in writer.distinct]
    if len(set(storages)) != len(storages):
        raise NotPortable("inputs that change in place and share memory")
