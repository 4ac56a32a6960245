"""A serialized program as it is safe to hand to PyTorch, which makes Python of much of it: names become source text,
sizes are run by sympy, operators are looked up as attributes.
"""

import json
import re

from .errors import ArchiveError
from .expressions import Expression

MAX_SIZE = 1 << 40  # Of a dim, and of the hint of a symbol.
MAX_UNBACKED = 10_000  # The number of a symbol that values decide: PyTorch counts up to it.

# Of the nodes that are no operators: arithmetic of sizes.
_OF_PYTHON = {
    "_operator": frozenset((
        "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "pos", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and_",
        "or_", "not_", "getitem", "lshift", "rshift")),
    "math": frozenset(("ceil", "floor", "trunc", "sqrt")),
    "torch": frozenset((
        "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "_sym_sqrt",
        "_check", "_check_is_size")),
}
_HIGHER_ORDER = frozenset((
    "associative_scan", "cond", "flex_attention", "invoke_subgraph", "map_impl", "out_dtype", "scan", "strict_mode",
    "while_loop", "wrap_with_autocast", "wrap_with_set_grad_enabled"))
_OPERATOR = re.compile(r"torch\.ops\.([A-Za-z_][A-Za-z0-9_]*)\.([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z_][A-Za-z0-9_]*))?")
_NAMESPACES = frozenset(("aten", "prims"))
_FORBIDDEN_OPERATORS = frozenset(("aten.from_file", "aten._print"))  # The file system, and the terminal.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,1000}")
_PATH = re.compile(r"""[^"'\\\x00-\x1f]{1,4000}""")  # Of a parameter, in source text between quotes.
_RANGE = re.compile(r"[a-z0-9_ +*/()<>=,%A-Z-]{1,4000}")
_UNBACKED = re.compile(r"(?:u|zuf)([0-9]+)")

_VALUES = ("tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values")
_PATHS = ("parameter_name", "buffer_name", "tensor_constant_name", "user_input_name")
_TREES = ("in_spec", "out_spec")
_TREE_TYPES = frozenset((
    "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict", "collections.deque",
    "torch.fx.immutable_collections.immutable_list", "torch.fx.immutable_collections.immutable_dict"))
_VERIFIERS = frozenset(("TRAINING", "ATEN", "CORE ATEN", ""))


class Registered:
    """What this Python knows: has_operator("aten.add.Tensor"), has_tree_type(name). Of the operators' namespaces, those
    that only compute count, and those that modules have brought which the user named."""

    def __init__(self, brought, has_operator, has_tree_type):
        self._namespaces = _NAMESPACES | brought
        self._has_operator = has_operator
        self.has_tree_type = has_tree_type

    def has_operator(self, name):
        return name.partition(".")[0] in self._namespaces and self._has_operator(name)


def checked(program, registered):
    """A copy of an ExportedProgram (JSON) without what nothing needs, notes of where its nodes come from and guards of
    its inputs; ArchiveError for anything that PyTorch should not see."""
    try:
        graph_module = dict(program["graph_module"])
        root, = [entry for entry in graph_module["module_call_graph"] if entry["fqn"] == ""]
        graph_module.update(
            graph=_without_notes(graph_module["graph"]), module_call_graph=[root], metadata={},
            treespec_namedtuple_fields={})
        result = {
            "graph_module": graph_module, "opset_version": program["opset_version"],
            "range_constraints": _ranges(program["range_constraints"]), "schema_version": program["schema_version"],
            "verifiers": program.get("verifiers", []), "torch_version": program.get("torch_version", ""),
            "guards_code": []}
        if not _VERIFIERS.issuperset(result["verifiers"]):
            raise ArchiveError(f"It is in the dialect {result['verifiers']}, which is not known here.")
        _Check(registered).value("program", result)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArchiveError(f"A program is not as its schema says: {type(error).__name__}: {error}.") from None
    except RecursionError:
        raise ArchiveError("A program is nested too deeply.") from None
    return result


def _without_notes(graph):
    nodes = [{**node, "metadata": {}} for node in graph["nodes"]]
    for node in nodes:
        node["inputs"] = [{**given, "arg": _without_notes_inside(given["arg"])} for given in node["inputs"]]
    return {**graph, "nodes": nodes, "custom_obj_values": {}}


def _without_notes_inside(argument):
    inner = argument.get("as_graph") if isinstance(argument, dict) else None
    return argument if inner is None else {"as_graph": {**inner, "graph": _without_notes(inner["graph"])}}


def _ranges(ranges):
    for text, bounds in ranges.items():
        symbol = _UNBACKED.fullmatch(text)
        if not _RANGE.fullmatch(text) or symbol and int(symbol[1]) > MAX_UNBACKED:
            raise ArchiveError(f"It has a range for {text[:80]!r}.")
        if not all(bounds.get(name) is None or type(bounds[name]) is int for name in ("min_val", "max_val")):
            raise ArchiveError(f"The range of {text} is {bounds}.")
    return ranges


def _holds_object(context):
    if isinstance(context, str):
        try:
            context = json.loads(context)
        except ValueError:
            return False
        return not isinstance(context, str) and _holds_object(context)
    return isinstance(context, dict) or isinstance(context, list) and any(map(_holds_object, context))


class _Check:
    """By the names of the schema's fields, wherever they stand."""

    def __init__(self, registered):
        self._registered = registered

    def value(self, name, value):
        if isinstance(value, dict):
            for field, item in value.items():
                self._field(field, item)
        elif isinstance(value, list):
            for item in value:
                self.value(name, item)
        elif type(value) is int and not isinstance(value, bool) and value.bit_length() > 64:
            raise ArchiveError(f"'{name}' is a number of {value.bit_length()} bits.")

    def _field(self, field, value):
        if field in _VALUES:
            for name, described in value.items():
                self._identifier(name)
                self.value(field, described)
            return
        if field in ("name", "as_name") and value:  # Of an argument by position, it is empty.
            self._identifier(value)
        elif field in _PATHS:
            if not _PATH.fullmatch(value):
                raise ArchiveError(f"A parameter has the name {value[:80]!r}.")
        elif field in ("target", "as_operator"):
            self._operator(value)
        elif field == "expr_str":
            Expression(value)
        elif field in ("hint", "sizes"):
            self._size(field, value)
        elif field in _TREES:
            self._tree(json.loads(value)[1])
        elif field == "forward_arg_names":
            for name in value or ():
                self._identifier(name)
        elif field in ("device", "as_device"):
            if value["type"] != "cpu":
                raise ArchiveError(f"It computes on '{value['type']}'; what is warmed is for processors.")
        elif field in ("custom_obj", "as_custom_obj"):
            raise ArchiveError("It uses an object of a class of its own, which is pickled and not opened.")
        elif field == "as_string_to_argument":
            raise ArchiveError("It has an argument that is a dictionary.")
        self.value(field, value)

    def _identifier(self, name):
        if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
            raise ArchiveError(f"A value has the name {str(name)[:80]!r}.")

    def _size(self, field, value):
        for size in value if isinstance(value, list) else [value]:
            number = size.get("as_int") if isinstance(size, dict) else None
            if number is not None and not (type(number) is int and 0 <= number <= MAX_SIZE):
                raise ArchiveError(f"A size is {str(number)[:40]}; it is at most {MAX_SIZE}.")

    def _operator(self, target):
        module, _, name = target.rpartition(".")
        if name in _OF_PYTHON.get(module, ()):
            return
        match = _OPERATOR.fullmatch(target)
        if match is None or "__" in target:
            raise ArchiveError(f"It calls '{target[:200]}', which is no operator.")
        namespace, operator, overload = match.groups()
        if namespace == "higher_order":
            if operator not in _HIGHER_ORDER:
                raise ArchiveError(f"It calls '{target}', which is not known here.")
        elif f"{namespace}.{operator}" in _FORBIDDEN_OPERATORS:
            raise ArchiveError(f"It calls '{target}', which does more than compute.")
        elif not self._registered.has_operator(f"{namespace}.{operator}.{overload or 'default'}"):
            raise ArchiveError(
                f"It calls '{target}', which is not registered in this Python: --import names the module that does so.")

    def _tree(self, tree):
        kind = tree["type"]
        if kind is None:
            return
        if kind not in _TREE_TYPES and not self._registered.has_tree_type(kind):
            raise ArchiveError(
                f"Its arguments or results are in a '{kind}', which is not registered in this Python: --import names "
                "the module that does so.")
        if _holds_object(tree["context"]):  # Of which PyTorch imports what an enum or a default's factory is of.
            raise ArchiveError(f"Its arguments or results are in a '{kind}' with keys or defaults that are objects.")
        for child in tree["children_spec"]:
            self._tree(child)
