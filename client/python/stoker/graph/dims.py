"""Dim: a size that varies, where a graph is lowered for more sizes than one.

A polynomial over symbols with integer coefficients; floordiv, max and min are atoms of it, as in SymDim
(protocol/graph/dim/sym_dim.h), which reads what str() gives. What comes out constant is an int. A Dim that is compared, or
taken for a number, asks its Assumptions, which decide and note what the answer relies on.
"""

from functools import reduce
from math import gcd, isinf
from typing import Any, NamedTuple


MOST_COUNTED = 2**63 - 1  # What follows from sizes is computed in 64 bits.


class _Atom(NamedTuple):
    text: str
    kind: str  # "symbol", "floordiv", "max", "min"
    a: Any  # The symbol's number, or an int or Dim.
    b: Any


def _factors(atoms):
    return tuple(sorted(atoms, key=lambda atom: atom.text))


def _term_text(coefficient, atoms):
    parts = [atom.text for atom in atoms]
    if abs(coefficient) != 1 or not parts:
        parts.insert(0, str(abs(coefficient)))
    return ("-" if coefficient < 0 else "+") + "*".join(parts)


class Dim:
    """`terms`: {sorted atoms: coefficient, not 0}. Immutable."""

    __slots__ = ("terms", "text", "assumptions")

    def __init__(self, terms, assumptions):
        self.terms = terms
        self.assumptions = assumptions
        # The constant last, as SymDim prints it.
        ordered = sorted(terms.items(), key=lambda item: (-len(item[0]), [atom.text for atom in item[0]]))
        self.text = "".join(_term_text(coefficient, atoms) for atoms, coefficient in ordered).removeprefix("+")

    def __str__(self):
        return self.text

    __repr__ = __str__

    def __format__(self, spec):
        return format(self.text, spec)

    def __hash__(self):
        return hash(self.text)

    # ---- Arithmetic -----------------------------------------------------------------------------

    def __add__(self, other):
        terms = dict(self.terms)
        for atoms, coefficient in _terms(other).items():
            terms[atoms] = terms.get(atoms, 0) + coefficient
        return _made(terms, self.assumptions)

    def __mul__(self, other):
        terms = {}
        for left, a in self.terms.items():
            for right, b in _terms(other).items():
                atoms = _factors(left + right)
                terms[atoms] = terms.get(atoms, 0) + a * b
        return _made(terms, self.assumptions)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __pow__(self, exponent):
        result = 1
        for _ in range(exponent):
            result = self * result
        return result

    def __floordiv__(self, divisor):
        return floordiv(self, divisor, self.assumptions)

    def __rfloordiv__(self, dividend):
        return floordiv(dividend, self, self.assumptions)

    def __mod__(self, divisor):
        return self - self // divisor * divisor

    def __rmod__(self, dividend):
        return dividend - dividend // self * self

    def __abs__(self):
        return self if self >= 0 else -self

    # ---- What has to be known -------------------------------------------------------------------

    def __eq__(self, other):
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        difference = self - other
        return difference == 0 if isinstance(difference, int) else self.assumptions.is_zero(difference)

    def __lt__(self, other):
        return not self >= other

    def __gt__(self, other):
        return not self <= other

    def __le__(self, other):
        if _is_infinite(other):
            return other > 0
        return other - self >= 0

    def __ge__(self, other):
        if _is_infinite(other):
            return other < 0
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        difference = self - other
        return difference >= 0 if isinstance(difference, int) else self.assumptions.is_not_negative(difference)

    def __bool__(self):
        return self != 0

    def __int__(self):
        """Its symbols have to be numbers."""
        return self.assumptions.number(self)

    __index__ = __int__

    def bit_length(self):
        return int(self).bit_length()

    def __float__(self):
        return float(int(self))

    def __truediv__(self, other):
        return int(self) / other

    def __rtruediv__(self, other):
        return other / int(self)

    def settled(self):
        """The same, in terms of what has to be said in terms of others."""
        return self if self.assumptions is None else self.assumptions.in_terms_of_others(self)

    # ---- What follows from the symbols -----------------------------------------------------------

    def at(self, values):
        """The number, given each symbol's."""
        total = 0
        for atoms, coefficient in self.terms.items():
            for atom in atoms:
                coefficient *= _atom_at(atom, values)
            total += coefficient
        return total

    def symbols(self):
        """Numbers of those that occur."""
        found = set()
        for atoms in self.terms:
            for atom in atoms:
                if atom.kind == "symbol":
                    found.add(atom.a)
                else:
                    found.update(*(side.symbols() for side in (atom.a, atom.b) if isinstance(side, Dim)))
        return found

    @property
    def symbol(self):
        """The number of the symbol that this is, or None."""
        if len(self.terms) == 1:
            (atoms, coefficient), = self.terms.items()
            if coefficient == 1 and len(atoms) == 1 and atoms[0].kind == "symbol":
                return atoms[0].a
        return None


def _is_infinite(value):
    """As no size is."""
    return isinstance(value, float) and isinf(value)


def _terms(value):
    if isinstance(value, Dim):
        return value.terms
    return {(): value} if value else {}


def _made(terms, assumptions):
    terms = {atoms: coefficient for atoms, coefficient in terms.items() if coefficient}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Dim(terms, assumptions)


def may_be_negative(value):
    """May an int or a Dim be, as far as its form says, where no symbol is?"""
    if not isinstance(value, Dim):
        return value < 0
    return any(coefficient < 0 or any(_atom_may_be_negative(atom) for atom in atoms) for atoms, coefficient in value.terms.items())


def _atom_may_be_negative(atom):
    if atom.kind == "symbol":
        return False
    operands = may_be_negative(atom.a), may_be_negative(atom.b)
    return all(operands) if atom.kind == "max" else any(operands)


def symbol(number, assumptions=None):
    return Dim({(_Atom(f"s{number}", "symbol", number, None),): 1}, assumptions)


def floordiv(a, b, assumptions=None):
    """Rounds toward minus infinity."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    divisor, multiple = _terms(b), _multiple(a, b)
    if multiple is not None:
        return multiple
    quotient = _divided(a, *next(iter(divisor.items())), assumptions) if len(divisor) == 1 else None
    return _atom("floordiv", a, b, assumptions) if quotient is None else quotient


def _multiple(a, b):
    """How many times b a is, where that is the same for all sizes."""
    dividend, divisor = _terms(a), _terms(b)
    if dividend.keys() != divisor.keys():
        return None
    times = next(dividend[atoms] // coefficient for atoms, coefficient in divisor.items())
    return times if all(dividend[atoms] == times * coefficient for atoms, coefficient in divisor.items()) else None


def _divided(a, factors, scale, assumptions):
    """floordiv by scale * factors; None where nothing comes out of the division."""
    whole, rest = {}, {}
    for atoms, coefficient in _terms(a).items():
        left = _without(atoms, factors)
        if left is None or scale < 0 or (factors and coefficient % scale):
            return None
        if coefficient // scale:
            whole[left] = coefficient // scale
        if coefficient % scale:  # Of constant divisors alone.
            rest[atoms] = coefficient % scale
    result = _made(whole, assumptions)
    if any(rest):  # A constant alone is less than the divisor.
        result = _quotient(rest, scale, assumptions) + result
    return result


def _quotient(terms, divisor, assumptions):
    """Of what has no whole multiples of a constant: without common divisors, and of a quotient as one of what it is of."""
    common = gcd(divisor, *(coefficient for atoms, coefficient in terms.items() if atoms))
    dividend = _made({atoms: coefficient // common for atoms, coefficient in terms.items()}, assumptions)
    divisor //= common
    if divisor == 1:
        return dividend
    atoms = [atoms for atoms in dividend.terms if atoms]
    inner = atoms[0][0] if len(atoms) == 1 and len(atoms[0]) == 1 and dividend.terms[atoms[0]] == 1 else None
    if inner is not None and inner.kind == "floordiv" and isinstance(inner.b, int) and inner.b > 0:
        return floordiv(inner.a + inner.b * dividend.terms.get((), 0), inner.b * divisor, assumptions)
    return _atom("floordiv", dividend, divisor, assumptions)


def _without(atoms, factors):
    left = list(atoms)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def largest(a, b, assumptions=None):
    return _atom("max", a, b, assumptions) if isinstance(a, Dim) or isinstance(b, Dim) else max(a, b)


def smallest(a, b, assumptions=None):
    return _atom("min", a, b, assumptions) if isinstance(a, Dim) or isinstance(b, Dim) else min(a, b)


def _atom(kind, a, b, assumptions):
    return Dim({(_Atom(f"{kind}({a},{b})", kind, a, b),): 1}, assumptions)


_OPERATIONS = {"floordiv": lambda a, b: a // b, "max": max, "min": min}


def _atom_at(atom, values):
    if atom.kind == "symbol":
        return values[atom.a]
    return _OPERATIONS[atom.kind](at(atom.a, values), at(atom.b, values))


def at(value, values):
    """An int as it is, a Dim as a number; tuples and lists of them, and whatever else is in these, too."""
    if isinstance(value, Dim):
        return value.at(values)
    if type(value) in (tuple, list):
        return type(value)([at(item, values) for item in value])
    return value


def varies(value):
    """Is there a Dim in it, as at() looks?"""
    return isinstance(value, Dim) or isinstance(value, (tuple, list)) and any(varies(each) for each in value)


def same(left, right):
    """Are two shapes equal whatever the symbols are? Assumes nothing, so that what may be equal is not."""
    return len(left) == len(right) and all(
        a == b if isinstance(a, int) and isinstance(b, int) else str(a) == str(b) for a, b in zip(left, right))


def term(atoms, assumptions=None):
    """The product of atoms."""
    return Dim({atoms: 1}, assumptions)


def replaced(value, atoms, others):
    """With a product of these atoms for that one, wherever it is a factor."""
    if not isinstance(value, Dim):
        return value
    terms = {}
    for factors, coefficient in value.terms.items():
        left = _without(factors, atoms)
        factors = factors if left is None else _factors(left + others)
        terms[factors] = terms.get(factors, 0) + coefficient
    return _made(terms, value.assumptions)


def common_divisor(dim):
    """Of all coefficients but the constant."""
    return gcd(*(coefficient for atoms, coefficient in dim.terms.items() if atoms))


# ---- Trees, of pytorch/sizes.py --------------------------------------------------------------------


def of_tree(tree, symbols):
    """KeyError for a symbol that is not among `symbols` ({name: Dim or int}), ValueError for what is no polynomial."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return symbols[tree]
    operation, *operands = tree
    values = [of_tree(operand, symbols) for operand in operands]
    if operation == "**" and (not isinstance(values[1], int) or values[1] < 0):
        raise ValueError(f"{values[0]}**{values[1]}")
    assumptions = next((value.assumptions for value in values if isinstance(value, Dim)), None)
    return reduce(lambda a, b: _TREES[operation](a, b, assumptions), values)


_TREES = {
    "+": lambda a, b, _: a + b, "*": lambda a, b, _: a * b, "**": lambda a, b, _: a**b, "%": lambda a, b, _: a % b,
    "//": floordiv, "max": largest, "min": smallest}


# ---- Words, for captures ---------------------------------------------------------------------------


def to_words(value):
    """JSON of an int or a Dim."""
    if not isinstance(value, Dim):
        return value
    return [
        [coefficient, [
            atom.a if atom.kind == "symbol" else [atom.kind, to_words(atom.a), to_words(atom.b)] for atom in atoms]]
        for atoms, coefficient in value.terms.items()]


def from_words(words, symbol=symbol):
    """Without assumptions: for at() alone. `symbol`: of a number what stands for it."""
    if isinstance(words, int):
        return words
    total = 0
    for coefficient, atoms in words:
        term = int(coefficient)
        for atom in atoms:
            term *= symbol(atom) if isinstance(atom, int) else _WORDS[atom[0]](
                *(from_words(side, symbol) for side in atom[1:]))
        total += term
    return total


_WORDS = {"floordiv": floordiv, "max": largest, "min": smallest}
