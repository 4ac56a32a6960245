"""Guards over symbolic sizes: Dynamo's expressions, in Python's grammar, over the frame's locals `L` and globals `G`, and
modules `M` by their names."""

import ast
import math
import sys
import types

from ...base.signals import let_through
from ...pytorch.tensors import as_tensor_in_full_precision
from ..words.arrays import array_as_tensor
from ..words.values import NotPortable

MAX_LENGTH = 10000
_METHODS = frozenset(("size", "stride", "storage_offset", "item", "isnan"))
# By which Dynamo says how it reads what a class holds, and what a function is given where a call gives nothing.
_OF_ONE = ("dict", "type")
_INTERNAL = frozenset(("__defaults__", "__dict__", "__kwdefaults__", "__mro__"))
_ROOTS = ("L", "G", "M")
_FROM_NUMPY = "___from_numpy"
_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.USub, ast.Not, ast.BinOp, ast.Add,
    ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.Pow, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Call, ast.Attribute, ast.Subscript, ast.Constant, ast.Name,
    ast.Load, ast.IfExp)
_SAME_SIGN = "___same_sign"
FUNCTIONS = {
    _SAME_SIGN: lambda a, b: math.copysign(1, a) == math.copysign(1, b), "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b, "FloorDiv": lambda a, b: a // b, "Max": max, "Min": min,
    "max": max, "min": min, "___as_tensor": as_tensor_in_full_precision, "int": int, "dict": dict, "type": type,
    "ceil": math.ceil, "floor": math.floor, "math": types.SimpleNamespace(isnan=math.isnan), _FROM_NUMPY: array_as_tensor}


def check_expression(expression):
    """NotPortable unless it only compares sizes, strides and numbers that the locals or globals hold."""
    if len(expression) > MAX_LENGTH:
        raise NotPortable("a long guard on sizes")
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, RecursionError) as error:
        let_through(error)
        raise NotPortable("a guard on sizes that does not parse") from None
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise NotPortable(f"a guard on sizes with {type(node).__name__}")
        if isinstance(node, ast.Name) and node.id not in _ROOTS and node.id not in FUNCTIONS:
            raise NotPortable(f"a guard on sizes with the name {node.id}")
        if isinstance(node, ast.Call) and not _is_allowed(node):
            raise NotPortable(f"a guard on sizes that calls {ast.unparse(node.func)}")
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr not in _INTERNAL:
            raise NotPortable("a guard on sizes with an internal attribute")
    return tree


def with_modules(expression, module_under):
    """The expression, with modules where it reads globals that only the process that traces has. `module_under`: of a global,
    the name of the module that Dynamo keeps there; None of what is the program's."""
    tree = check_expression(expression)
    for node in ast.walk(tree):
        is_global = (
            isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "G"
            and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str))
        module = module_under(node.slice.value) if is_global else None
        if module is not None:
            node.value.id, node.slice.value = "M", module
    return ast.unparse(tree)


def signs_of_zeros(expression, scope):
    """Further expressions: where a number is to equal 0.0, it has the sign that it has as it is traced, which code may ask
    for."""
    names = _names(scope.local_values, scope.global_values)
    found = []
    for node in ast.walk(check_expression(expression)):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) else []
        texts = [ast.unparse(each) for each in sides]
        if any(text.lstrip("-") == "0.0" for text in texts):
            found += [
                f"{_SAME_SIGN}({text}, {math.copysign(0.0, eval(text, names))})" for text in texts if text.lstrip("-") != "0.0"]
    return found


def _names(local_values, global_values):
    return {**FUNCTIONS, "L": local_values, "G": global_values, "M": sys.modules, "__builtins__": {}}


def _is_allowed(call):
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _METHODS
    takes_one = len(call.args) == 1 and not call.keywords
    return isinstance(call.func, ast.Name) and call.func.id in FUNCTIONS and (takes_one or call.func.id not in _OF_ONE)


def compile_expressions(expressions, global_values):
    """A function of the locals: the first expression that does not hold, or None."""
    compiled = [
        (text, compile(check_expression(text), "<shape guard>", "eval")) for text in expressions]

    def first_failure(local_values):
        names = _names(local_values, global_values)
        for text, code in compiled:
            try:
                if not eval(code, names):
                    return text
            except Exception as error:  # They do not have what the expression reads.
                let_through(error)
                return text
        return None

    return first_failure
