"""Sizes that depend on symbols, as an archive writes them: "Mul(Integer(2), Symbol('s65', positive=True, integer=True))".

PyTorch gives such texts to sympy, which runs them as Python. So none gets there that is not of this grammar.
"""

import ast
import re

from .errors import ArchiveError

MAX_LENGTH = 1 << 14
MAX_INTEGER = 1 << 63
MAX_EXPONENT = 16
MAX_POWERS = 2  # One in another.
MAX_DEPTH = 50
_SYMBOL = re.compile(r"[a-z]{1,4}[0-9]{1,6}")  # s77, u0, zuf1
_ASSUMPTIONS = frozenset(("positive", "integer", "nonnegative", "real", "negative", "zero", "nonzero"))


def _power(base, exponent):
    if not 0 <= exponent <= MAX_EXPONENT:
        raise _bad(f"an exponent of {exponent}")
    return base ** exponent


def _product(*factors):
    result = 1
    for factor in factors:
        result *= factor
    return result


# Function of sympy or of PyTorch -> what it gives of integers.
_FUNCTIONS = {
    "Add": lambda *terms: sum(terms), "Mul": _product, "Max": max, "Min": min, "Abs": abs,
    "FloorDiv": lambda a, b: a // b, "CleanDiv": lambda a, b: a // b, "CeilDiv": lambda a, b: -(-a // b),
    "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b, "ModularIndexing": lambda a, b, c: a // b % c,
    "Pow": _power, "PowByNatural": _power, "Identity": lambda a: a, "Integer": lambda a: a,
}
# What says that something holds, or is no size: checked, and never evaluated here.
_OTHERS = frozenset((
    "Equality", "Unequality", "StrictLessThan", "LessThan", "StrictGreaterThan", "GreaterThan", "And", "Or", "Not",
    "Where", "Piecewise", "ExprCondPair", "ToFloat", "IntTrueDiv", "FloatTrueDiv", "TruncToInt", "TruncToFloat",
    "FloorToInt", "CeilToInt", "RoundToInt", "RoundDecimal", "FloatPow", "LShift", "RShift", "Rational",
    "IsNonOverlappingAndDenseIndicator"))
_EVEN = frozenset(("Add", "Mul", "Integer", "Symbol"))
_POWERS = frozenset(("Pow", "PowByNatural", "FloatPow", "LShift"))
_CONSTANTS = frozenset(("true", "false", "oo", "int_oo"))
_OPAQUE = re.compile(r"OpaqueUnaryFn_[a-z0-9]{1,16}")
_FLOAT = re.compile(r"Float\('-?[0-9.]{1,40}(e[+-]?[0-9]{1,3})?', precision=[0-9]{1,3}\)")
_EXPONENT = re.compile(r"(?:Integer|Float)\('?(-?[0-9.]{1,20})'?(?:, precision=[0-9]{1,3})?\)")


def _bad(what):
    return ArchiveError(f"A size is written with {what}, which is none of what torch.export.save writes.")


def _is_small_exponent(node):
    match = _EXPONENT.fullmatch(ast.unparse(node))
    return match is not None and abs(float(match[1])) <= MAX_EXPONENT


class Expression:
    """One that is of the grammar."""

    def __init__(self, text):
        if not isinstance(text, str) or len(text) > MAX_LENGTH:
            raise _bad(f"more than {MAX_LENGTH} characters")
        try:
            self._tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise _bad(f"the text {text[:80]!r}") from None
        self.symbols = set()
        self._functions = set()
        self._check(self._tree, 0, 0)

    def value(self, symbols):
        """An int, for {name: int}. KeyError for a symbol that is not among them, ArchiveError where it is no size."""
        try:
            value = self._value(self._tree, symbols)
        except (TypeError, ZeroDivisionError, ValueError) as error:
            raise _bad(f"'{ast.unparse(self._tree)[:80]}' ({error})") from None
        if abs(value) >= MAX_INTEGER:
            raise _bad(f"a value of {value.bit_length()} bits")
        return value

    def solve(self, value):
        """{name: int} for which it has that value, if it is a multiple of one symbol and a number; None otherwise."""
        if len(self.symbols) != 1 or not _EVEN.issuperset(self._functions):
            return None
        name, = self.symbols
        start = self.value({name: 0})
        step = self.value({name: 1}) - start
        if not step or (value - start) % step:
            return None
        found = {name: (value - start) // step}
        return found if self.value(found) == value else None

    def _check(self, node, depth, powers):
        if depth > MAX_DEPTH:
            raise _bad(f"more than {MAX_DEPTH} levels")
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            if abs(node.value) >= MAX_INTEGER:
                raise _bad("a number of more than 63 bits")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            self._check(node.operand, depth + 1, powers)
        elif isinstance(node, ast.Name) and node.id in _CONSTANTS:
            pass
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            self._check_call(node, depth, powers)
        else:
            raise _bad(f"'{ast.unparse(node)[:80]}'")

    def _check_call(self, node, depth, powers):
        name = node.func.id
        self._functions.add(name)
        if name == "Symbol":
            self._check_symbol(node)
            return
        is_known = name in _FUNCTIONS or name in _OTHERS or _OPAQUE.fullmatch(name)
        if name == "Float" and _FLOAT.fullmatch(ast.unparse(node)):
            return
        if node.keywords or not is_known:
            raise _bad(f"'{ast.unparse(node)[:80]}'")
        if name in _POWERS:
            powers += 1
            if powers > MAX_POWERS or len(node.args) != 2 or not _is_small_exponent(node.args[1]):
                raise _bad(f"'{ast.unparse(node)[:80]}'")
        for argument in node.args:
            self._check(argument, depth + 1, powers)

    def _check_symbol(self, node):
        name = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
        flags = [keyword.arg in _ASSUMPTIONS and isinstance(keyword.value, ast.Constant)
                 and type(keyword.value.value) is bool for keyword in node.keywords]
        if not isinstance(name, str) or not _SYMBOL.fullmatch(name) or not all(flags):
            raise _bad(f"'{ast.unparse(node)[:80]}'")
        self.symbols.add(name)

    def _value(self, node, symbols):
        if isinstance(node, ast.Constant):
            if type(node.value) is not int:
                raise TypeError("no integer")
            return node.value
        if isinstance(node, ast.UnaryOp):
            return -self._value(node.operand, symbols)
        if not isinstance(node, ast.Call):
            raise TypeError("no integer")
        name = node.func.id
        if name == "Symbol":
            return symbols[node.args[0].value]
        arguments = [self._value(argument, symbols) for argument in node.args]
        if name not in _FUNCTIONS:
            raise TypeError(f"{name} gives no integer")
        return _FUNCTIONS[name](*arguments)
