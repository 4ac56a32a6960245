"""Of an operator, what the elements of its result are."""

import torch

from ...graph import dims
from ...pytorch.operators import named_argument
from .line import Kept, Line, always, is_one, never

COUNTED = (torch.int64, torch.int32)


def _type(node):
    return node.meta["val"].dtype


def _shape(node):
    return node.meta["val"].shape


# ---- What is made ----------------------------------------------------------------------------------


def _arange(_, node):
    start, step = named_argument(node, "start"), named_argument(node, "step")
    start, step = 0 if start is None else start, 1 if step is None else step
    is_whole = type(start) is int and type(step) is int and _type(node) in COUNTED
    return Line(start, (step,)) if is_whole else None


def _filled(value):
    def rule(_, node):
        number, dtype = value(node), _type(node)
        if dtype == torch.bool and type(number) in (bool, int):
            return Kept(always(0) if number else never(0))
        if dtype in COUNTED and type(number) is int:
            return Line(number, ())
        return Line(float(number), ()) if dtype.is_floating_point and type(number) in (int, float) else None

    return rule


# ---- Views -------------------------------------------------------------------------------------------


def _moved(move):
    """`move(steps, node, shape of what is seen)` gives the steps, or None."""

    def rule(elements, node):
        source = node.args[0]
        found = elements.of(source)
        line = found.line if isinstance(found, Kept) else found
        steps = None if line is None or _type(source) != _type(node) else move(list(line.steps), node, _shape(source))
        return None if steps is None else _with_line(found, Line(line.first, tuple(steps)))

    return rule


def _with_line(found, line):
    return found._replace(line=line) if isinstance(found, Kept) else line


def _reshaped(steps, node, shape):
    """Dims of one element come and go."""
    to = _shape(node)
    if not any(steps):
        return [0] * len(to)
    if not dims.same(*([size for size in sizes if not is_one(size)] for sizes in (shape, to))):
        return None
    left = iter([step for size, step in zip(shape, steps) if not is_one(size)])
    return [0 if is_one(size) else next(left) for size in to]


def _transposed(steps, node, _):
    a, b = node.args[1:]
    steps[a], steps[b] = steps[b], steps[a]
    return steps


def _slice(elements, node):
    source = node.args[0]
    dim, start, step = (named_argument(node, name) for name in ("dim", "start", "step"))
    dim, start = dim % len(_shape(source)), 0 if start is None else start
    padded = _unpadded(source, dim)
    if padded is not None:
        is_whole = type(start) is int and start == 0 and dims.same(_shape(node), _shape(padded))
        return elements.of(padded) if is_whole else None
    found = elements.of(source)
    line = found.line if isinstance(found, Kept) else found
    if line is None or not line.steps[dim]:
        return found
    if type(start) is not int or start < 0 or type(step) is not int:
        return None
    steps = line.steps[:dim] + (line.steps[dim] * step,) + line.steps[dim + 1:]
    return _with_line(found, Line(line.first + line.steps[dim] * start, steps))


def _unpadded(node, dim):
    """Before something was put behind its last dim."""
    if str(node.target) != "aten.constant_pad_nd.default" or dim != len(_shape(node)) - 1:
        return None
    source, pads = node.args[:2]
    return source if len(pads) == 2 and type(pads[0]) is int and pads[0] == 0 else None


def _select(elements, node):
    source, dim, place = node.args
    line = elements.line(source)
    if line is None or type(place) is not int or place < 0:
        return None
    dim %= len(line.steps)
    return Line(line.first + line.steps[dim] * place, line.steps[:dim] + line.steps[dim + 1:])


def _as_dtype(elements, node):
    """Of whole numbers as others, and of truths and of what is added as such."""
    before, after = _type(node.args[0]), _type(node)
    is_alike = before == after or {before, after} <= set(COUNTED) or before.is_floating_point and after.is_floating_point
    return elements.of(node.args[0]) if is_alike else None


# ---- Numbers -----------------------------------------------------------------------------------------


def _sum(sign):
    def rule(elements, node):
        a, b = (elements.line(argument) for argument in node.args[:2])
        alpha = named_argument(node, "alpha")
        is_plain = _type(node) in COUNTED and (alpha is None or type(alpha) is int and alpha == 1)
        return a.plus(b, sign) if is_plain and a is not None and b is not None else None

    return rule


def _compared(of_difference):
    """`of_difference(a - b)`: the line that is not below zero where it holds, or whether it always does; None: neither."""

    def rule(elements, node):
        a, b = (elements.line(argument) for argument in node.args[:2])
        if a is None or b is None:
            return None
        found = of_difference(a.plus(b, -1))
        if isinstance(found, bool):
            return Kept(always(0) if found else never(0))
        return None if found is None else Kept(found)

    return rule


def _cat(elements, node):
    """One line through all parts."""
    dim = named_argument(node, "dim") % len(_shape(node))
    parts, begin = [], 0
    for part in node.args[0]:
        line = elements.line(part)
        if line is None or type(begin) is not int or len(line.steps) != len(_shape(node)):
            return None
        parts.append((line, begin, is_one(_shape(part)[dim])))
        begin = begin + _shape(part)[dim]
    step = next((line.steps[dim] for line, _, is_single in parts if not is_single), None)
    if step is None:
        return None
    whole = {
        Line(line.first - step * begin, line.steps[:dim] + (step if is_single else line.steps[dim],) + line.steps[dim + 1:])
        for line, begin, is_single in parts}
    return whole.pop() if len(whole) == 1 else None


def _cumsum(elements, node):
    found = elements.of(node.args[0])
    number = found.truth if isinstance(found, Kept) else elements.number(node.args[0])
    if type(number) not in (bool, int) or _type(node) not in COUNTED:
        return None
    rank = len(_shape(node))
    return Line(int(number), tuple(int(number) if dim == node.args[1] % rank else 0 for dim in range(rank)))


def _index(elements, node):
    """All dims by places that are there."""
    source, places = node.args
    line = elements.line(source)
    if line is None or len(places) != len(_shape(source)):
        return None
    total = Line(line.first, ())
    for place, size, step in zip(places, _shape(source), line.steps):
        found = elements.line(place)
        if found is None or not found.is_inside(_shape(place), size):
            return None
        total = total.plus(found, step)
    return total


# ---- Truths, and what is added to scores -------------------------------------------------------------


def _and(elements, node):
    a, b = (elements.truth(argument) for argument in node.args[:2])
    return None if a is None or b is None else a.both(b)


def _or(elements, node):
    a, b = (elements.truth(argument) for argument in node.args[:2])
    neither = None if a is None or b is None else a.opposite().both(b.opposite())
    return None if neither is None else neither.opposite()


def _not(elements, node):
    found = elements.truth(node.args[0])
    return None if found is None else found.opposite()


def _where(elements, node):
    condition = elements.truth(node.args[0])
    chosen, other = (elements.number(argument) for argument in node.args[1:3])
    if condition is None or chosen is None or other is None or not _type(node).is_floating_point:
        return None
    for kept, a, b in ((condition, chosen, other), (condition.opposite(), other, chosen)):
        if a == 0 and b <= elements.least:
            return kept._replace(is_added=True)
    return None


def _masked_fill(elements, node):
    source, mask, value = node.args
    condition, number = elements.truth(mask), elements.number(value)
    if condition is None or number is None or not number <= elements.least or not _type(node).is_floating_point:
        return None
    found = Kept(always(0)) if elements.number(source) == 0 else elements.of(source)
    both = found.both(condition.opposite()) if isinstance(found, Kept) else None
    return None if both is None else both._replace(is_added=True)


def _triangle(sign):
    """tril (1) keeps what is not above a diagonal, triu (-1) what is not below one; -infinity is left where they keep it."""

    def rule(elements, node):
        source, diagonal = node.args[0], named_argument(node, "diagonal")
        if type(diagonal) is not int:
            return None
        inside = Kept(Line(sign * diagonal, (0,) * (len(_shape(source)) - 2) + (sign, -sign)))
        truth, number = elements.truth(source), elements.number(source)
        if truth is not None:
            return truth.both(inside)
        is_dropped = number is not None and number <= elements.least and _type(node).is_floating_point
        return inside.opposite()._replace(is_added=True) if is_dropped else None

    return rule


RULES = {f"aten.{name}": rule for names, rule in (
    ("arange", _arange),
    ("ones new_ones ones_like", _filled(lambda node: 1)),
    ("zeros new_zeros zeros_like", _filled(lambda node: 0)),
    ("full full_like new_full", _filled(lambda node: named_argument(node, "fill_value"))),
    ("scalar_tensor", _filled(lambda node: node.args[0])),
    ("alias clone detach", _moved(lambda steps, *_: steps)),
    ("_to_copy", _as_dtype),
    ("expand", _moved(lambda steps, *_: steps)),
    ("squeeze unsqueeze view _unsafe_view reshape", _moved(_reshaped)),
    ("permute", _moved(lambda steps, node, _: [steps[dim] for dim in node.args[1]])),
    ("transpose", _moved(_transposed)),
    ("slice", _slice),
    ("select", _select),
    ("add", _sum(1)),
    ("sub", _sum(-1)),
    ("ge", _compared(lambda difference: difference)),
    ("gt", _compared(lambda difference: difference.less(1))),
    ("le", _compared(lambda difference: difference.negative())),
    ("lt", _compared(lambda difference: difference.negative().less(1))),
    ("eq", _compared(lambda difference: difference.first == 0 if difference.is_even() else None)),
    ("ne", _compared(lambda difference: difference.first != 0 if difference.is_even() else None)),
    ("bitwise_and logical_and", _and),
    ("bitwise_or logical_or", _or),
    ("bitwise_not logical_not", _not),
    ("where", _where),
    ("masked_fill", _masked_fill),
    ("tril", _triangle(1)),
    ("triu", _triangle(-1)),
    ("cat", _cat),
    ("cumsum", _cumsum),
    ("index", _index),
) for name in names.split()}
