"""Symbolic sizes, as PyTorch's tracing has them."""

import torch

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

# Classes of expressions, sympy's and PyTorch's own.
_OPERATIONS = {
    "Add": "+", "Mul": "*", "Pow": "**", "PowByNatural": "**", "FloorDiv": "//", "CleanDiv": "//", "Mod": "%",
    "PythonMod": "%", "Max": "max", "Min": "min"}


def tree_of(size):
    """What a size is: an int; the name of a symbol; or (one of + * ** // % max min, trees of its operands...). Of
    anything else, ValueError says what it is."""
    if not isinstance(size, SYMBOLIC):
        return size
    if not isinstance(size, torch.SymInt):
        raise ValueError(f"a symbolic number that is no integer, {size}")
    return _tree(size.node.expr)


def symbols_of(value):
    """Names of the symbols in a size; none in anything else."""
    return {symbol.name for symbol in value.node.expr.free_symbols} if isinstance(value, SYMBOLIC) else set()


def is_of_nested(number):
    """Is it a size of a nested tensor, which stands for several?"""
    return isinstance(number, torch.SymInt) and bool(number.node.is_nested_int())


def is_of_a_run(number):
    """Is it, or does it follow from, what only a run knows?"""
    environment = number.node.shape_env
    return any(environment.is_unbacked_symint(each) for each in number.node.expr.free_symbols)


def example_of(number):
    """What a number that varies was as it was traced, without a guard of it; None of what only a run knows."""
    if not isinstance(number, SYMBOLIC):
        return number
    return None if is_of_a_run(number) else number.node.hint


def _tree(expression):
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return expression.name
    if expression.func.__name__ == "Abs":
        number = _tree(expression.args[0])
        return "max", number, ("*", -1, number)
    operation = _OPERATIONS.get(expression.func.__name__)
    if operation is None:
        raise ValueError(f"the size {expression}")
    return (operation, *(_tree(each) for each in expression.args))
