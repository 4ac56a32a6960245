import pytest

from stoker.export_archive.errors import ArchiveError
from stoker.export_archive.expressions import Expression

S, T = "Symbol('s0', positive=True, integer=True)", "Symbol('s77', positive=True, integer=True)"


@pytest.mark.parametrize("text, symbols, value", [
    ("Integer(7)", {}, 7), (S, {"s0": 5}, 5), (f"Mul(Integer(2), {S})", {"s0": 5}, 10),
    (f"Add({T}, Mul(Integer(-1), {S}), Integer(3))", {"s0": 5, "s77": 9}, 7),
    (f"FloorDiv({S}, Integer(2))", {"s0": 5}, 2), (f"CeilDiv({S}, Integer(2))", {"s0": 5}, 3),
    (f"PythonMod({S}, Integer(3))", {"s0": 5}, 2), (f"ModularIndexing({S}, Integer(2), Integer(4))", {"s0": 13}, 2),
    (f"Pow({S}, Integer(2))", {"s0": 5}, 25), (f"Max(Integer(1), {S})", {"s0": 0}, 1), (f"Min({S}, {T})", {"s0": 4, "s77": 3}, 3)])
def test_value(text, symbols, value):
    expression = Expression(text)
    assert expression.symbols == set(symbols)
    assert expression.value(symbols) == value


@pytest.mark.parametrize("text", [
    "true", "oo", f"Equality({S}, Integer(3))", f"And(StrictGreaterThan({S}, Integer(3)), LessThan({S}, Integer(9)))",
    f"FloatPow(ToFloat({S}), Float('0.5', precision=53))", f"OpaqueUnaryFn_sqrt({S})", f"Mul(Rational(1, 2), {S})",
    f"Where(StrictGreaterThan({S}, Integer(2)), {S}, Integer(3))", "Mul(Float('-2.5e-3', precision=53), Integer(2))"])
def test_what_is_no_size_is_of_the_grammar_and_has_no_value(text):
    with pytest.raises(ArchiveError):
        Expression(text).value({"s0": 5})


@pytest.mark.parametrize("text, size, symbols", [
    (S, 5, {"s0": 5}), (f"Mul(Integer(2), {S})", 10, {"s0": 5}), (f"Mul(Integer(2), {S})", 9, None),
    (f"Add(Integer(1), Mul(Integer(3), {S}))", 16, {"s0": 5}), (f"Add({S}, {T})", 9, None), ("Integer(4)", 4, None),
    (f"PythonMod({S}, Integer(8))", 3, None), (f"Pow({S}, Integer(2))", 25, None)])
def test_solve(text, size, symbols):
    assert Expression(text).solve(size) == symbols


@pytest.mark.parametrize("text", [
    "", "s0", "s0 + 1", "print(1)", "Integer(1).real", "[1]", "lambda: 1", "Integer(*[1])", "Integer(1, x=2)", "Symbol(1)",
    "Symbol('s0', commutative=True)", "Symbol('s0', positive=print(1))", "Symbol('__class__')", "Symbol()", "'s0'",
    "Float(__import__('os'))", "Float('1e9999', precision=53)", "Float('1', precision=99999)", "Integer(1 << 99)",
    f"Integer({1 << 63})", "Pow(Integer(2), Integer(17))", f"Pow(Integer(2), {S})", "Pow(Integer(2), Add(Integer(2), Integer(9)))",
    "Pow(Integer(2))", f"LShift(Integer(1), {S})", "Pow(Pow(Pow(Integer(2), Integer(9)), Integer(9)), Integer(9))",
    "Add(" * 60 + "Integer(1)" + ")" * 60, "(" * 5000 + ")" * 5000, "Add(" + "Integer(1), " * 2000 + ")", "a\0b", None, 3])
def test_anything_else_is_refused(text):
    with pytest.raises(ArchiveError, match="^A size is written with "):
        Expression(text)


def test_values_without_an_end_are_refused():
    with pytest.raises(ArchiveError):
        Expression("Pow(Pow(Integer(9999999), Integer(16)), Integer(16))").value({})
    with pytest.raises(ArchiveError):
        Expression(f"FloorDiv(Integer(1), {S})").value({"s0": 0})
