"""What a graph that is lowered for varying sizes takes for granted.

A lowering asks of a size whether it is 1, or less than another. Where that follows from what is assumed so far, it is no
more than said; otherwise it is as in the call at hand, and what was lowered is for sizes of which the same holds. Where a
size has to be a number, or two have to be one, the lowering begins anew with that settled, so that all of a graph's
text says the same.
"""

from typing import Any, NamedTuple

from .dims import at, common_divisor, from_words, may_be_negative, replaced, symbol, term, to_words

LIMIT = 2**62  # No size is larger.


class Condition(NamedTuple):
    relation: str  # "==", "!=", ">="
    dim: Any  # What is so to 0.

    def holds(self, values):
        number = at(self.dim, values)
        return {"==": number == 0, "!=": number != 0, ">=": number >= 0}[self.relation]

    def words(self):
        return [self.relation, to_words(self.dim)]


def condition_of(words):
    relation, dim = words
    if relation not in ("==", "!=", ">="):
        raise ValueError(f"A condition '{relation}'.")
    return Condition(relation, from_words(dim))


class Settled(Exception):
    """From the beginning on, `number`, of a symbol, has to be `meaning`: a number, or the number of another symbol in a tuple. Or
    a product of symbols, a term of Dims, has to be another."""

    def __init__(self, number, meaning):
        super().__init__(f"s{number} is {meaning}")
        self.number = number
        self.meaning = meaning


class NeedsNumber(Settled):
    """For what is being lowered."""


class ByForm:
    """Decides by what Dims look like, whatever their symbols are: two that may be equal are not, and what may be negative is."""

    @staticmethod
    def is_zero(dim):
        return False

    @staticmethod
    def is_not_negative(dim):
        return not may_be_negative(dim)

    @staticmethod
    def in_terms_of_others(dim):
        return dim


class Assumptions:
    """`values`: of each symbol, in the call at hand. `settled`: {symbol: meaning} of what was Settled before."""

    def __init__(self, values, settled=None):
        self.values = values
        # PyTorch traces 0 and 1 apart from other sizes, and so does this.
        self._settled = {number: value for number, value in enumerate(values) if value in (0, 1)} | (settled or {})
        self._low = [min(value, 2) for value in values]
        self._high = [LIMIT for _ in values]
        self._others = {}  # Condition -> None

    def symbol(self, number):
        """What stands for a symbol."""
        meaning = self._settled.get(number)
        if isinstance(meaning, tuple):
            return self.symbol(*meaning)
        return symbol(number, self) if meaning is None else meaning

    def in_terms_of_others(self, dim):
        """The same Dim, where a product is settled that it has."""
        for key, meaning in self._settled.items():
            if isinstance(key, tuple):
                dim = replaced(dim, key, meaning)
        return dim

    def conditions(self):
        """All that must hold, of each call."""
        bounds = []
        for number, (low, high) in enumerate(zip(self._low, self._high)):
            meaning = self._settled.get(number)
            if meaning is not None:
                other = symbol(*meaning) if isinstance(meaning, tuple) else meaning
                bounds.append(Condition("==", symbol(number) - other))
                continue
            bounds.append(Condition(">=", symbol(number) - low))
            if high < LIMIT:
                bounds.append(Condition(">=", high - symbol(number)))
        products = [
            Condition("==", term(key, self) - term(meaning, self)) for key, meaning in self._settled.items()
            if isinstance(key, tuple)]
        return (*bounds, *products, *self._others)

    # ---- What Dim asks --------------------------------------------------------------------------

    def is_zero(self, dim):
        low, high = self._range(dim)
        if low > 0 or high < 0 or -dim.terms.get((), 0) % common_divisor(dim):
            return False
        if low == high:
            return True
        for relation in ("==", "!="):
            if any(Condition(relation, form) in self._others for form in (dim, -dim)):
                return relation == "=="
        if dim.at(self.values):
            self._others[Condition("!=", dim)] = None
            return False
        self._settle(dim)
        self._others[Condition("==", dim)] = None
        return True

    def is_not_negative(self, dim):
        low, high = self._range(dim)
        if low >= 0 or high < 0:
            return low >= 0
        holds = dim.at(self.values) >= 0
        known = dim if holds else -dim - 1
        if Condition(">=", known) not in self._others and not self._narrowed(known):
            self._others[Condition(">=", known)] = None
        return holds

    def number(self, dim):
        value = dim.at(self.values)
        low, high = self._range(dim)
        if low != high:
            number = min(dim.symbols())
            raise NeedsNumber(number, self.values[number])
        return value

    # ---- Ranges ---------------------------------------------------------------------------------

    def _settle(self, dim):
        """Of what is 0 in the call at hand: Settled where that makes a symbol a number or another symbol."""
        line = _line(dim)
        if line is not None:
            raise Settled(line[0], self.values[line[0]])
        if sorted(dim.terms.values()) != [-1, 1] or () in dim.terms:
            return
        first, second = sorted(dim.terms)
        if len(first) == len(second) == 1 and first[0].kind == second[0].kind == "symbol":
            raise Settled(second[0].a, (first[0].a,))
        if len(second) > 1 and second not in self._settled and all(atom.kind == "symbol" for atom in (*first, *second)):
            raise Settled(second, first)

    def _narrowed(self, dim):
        """Makes the range of a symbol say that dim >= 0; False if that is nothing about one symbol."""
        line = _line(dim)
        if line is None:
            return False
        number, slope, start = line  # slope * symbol + start >= 0
        if slope > 0:
            self._low[number] = max(self._low[number], -(start // slope))
        else:
            self._high[number] = min(self._high[number], start // -slope)
        return True

    def _range(self, value):
        """(least, largest) that follow from the symbols' ranges; the limits stand for no bound."""
        if isinstance(value, int):
            return value, value
        low, high = self._range_of_terms(value)
        if low < 0 <= high:
            low, high = max(low, self._least(value)), min(high, -self._least(-value))
        return low, high

    def _least(self, dim):
        """Of a polynomial in how far its atoms are above their least, where no coefficient of it is negative."""
        shifted = {}
        for atoms, coefficient in dim.terms.items():
            products = {(): coefficient}
            for atom in atoms:
                least, before = self._range_of(atom)[0], products
                products = {left: value * least for left, value in before.items()}
                for left, value in before.items():
                    key = tuple(sorted((*left, atom.text)))
                    products[key] = products.get(key, 0) + value
            for key, value in products.items():
                shifted[key] = shifted.get(key, 0) + value
        least = shifted.pop((), 0)
        return least if all(value >= 0 for value in shifted.values()) else -LIMIT * LIMIT

    def _range_of_terms(self, value):
        low = high = 0
        for atoms, coefficient in value.terms.items():
            least = most = coefficient
            for atom in atoms:
                corners = [bound * other for bound in (least, most) for other in self._range_of(atom)]
                least, most = min(corners), max(corners)
            low, high = low + least, high + most
        return low, high

    def _range_of(self, atom):
        if atom.kind == "symbol":
            return self._low[atom.a], self._high[atom.a]
        (a_low, a_high), (b_low, b_high) = self._range(atom.a), self._range(atom.b)
        if atom.kind == "max":
            return max(a_low, b_low), max(a_high, b_high)
        if atom.kind == "min":
            return min(a_low, b_low), min(a_high, b_high)
        if b_low <= 0:
            return -LIMIT, LIMIT
        corners = [bound // divisor for bound in (a_low, a_high) for divisor in (b_low, b_high)]
        return min(corners), max(corners)


def _line(dim):
    """(symbol, slope, start) of what is slope * symbol + start, else None."""
    factors = [atoms for atoms in dim.terms if atoms]
    if len(factors) != 1 or len(factors[0]) != 1 or factors[0][0].kind != "symbol":
        return None
    return factors[0][0].a, dim.terms[factors[0]], dim.terms.get((), 0)
