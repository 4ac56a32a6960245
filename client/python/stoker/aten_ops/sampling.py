"""Images read at places that are data: between their elements, and beyond their edges."""

import itertools
import math

from ..graph.values import numbers
from .rules.registry import Unsupported, compute_dtype, rule

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _with(g, op, x, number):
    return g.with_scalar(op, x, number)


def _chain(g, op, values):
    result, *rest = values
    for value in rest:
        result = g.binary(op, result, value)
    return result


class _Sampler:
    """Of one call. PyTorch's kernels for two dims and for three differ in roundings, and in what becomes of NaN."""

    def __init__(self, g, x, grid, mode, padding, corners):
        self.g, self.mode, self.padding, self.corners = g, mode, padding, corners
        self.sizes = numbers(x.shape[2:])
        self.count = len(self.sizes)
        # Of other types PyTorch has no kernel, and refuses to read from nothing.
        if x.dtype != grid.dtype or not x.is_float or 0 in self.sizes:
            raise Unsupported("an image that PyTorch does not read")
        g.need("grid_sampler")
        x = g.convert(x, compute_dtype(x.dtype))
        self.x = x
        self.shape = grid.shape[:-1]
        self.near = g.constant(0, x.dtype)

    def coordinates(self, grid):
        """[(place along a dim of the image, its slope), ...], as of the elements."""
        grid = self.g.convert(grid, self.x.dtype)
        found = []
        for dim, size in enumerate(self.sizes):
            along = self.count - 1 - dim
            part = self.g.reshape(
                self.g.slice_dim(grid, self.count + 1, along, along + 1), self.shape)
            found.append(self._unnormalized(part, size))
        return found

    def _unnormalized(self, place, size):
        g, moved = self.g, _with(self.g, "add", place, 1)
        slope = g.constant((size - self.corners) / 2, place.dtype, place.shape)
        if self.count == 2:
            place = g.binary("multiply", moved, slope)
            return (place if self.corners else _with(g, "subtract", place, 0.5)), slope
        if self.corners:
            return _with(g, "multiply", _with(g, "divide", moved, 2), size - 1), slope
        return _with(g, "divide", _with(g, "subtract", _with(g, "multiply", moved, size), 1), 2), slope

    def inside(self, place, slope, size):
        """(the place, its slope) after padding."""
        if self.padding == _REFLECTION:
            place, turn = self._reflected(place, size)
            slope = self.g.binary("multiply", slope, turn)
        if self.padding != _ZEROS:
            place, kept = self._clipped(place, size)
            slope = self.g.select(kept, slope, self.near)
        return place, slope

    def _clipped(self, place, size):
        """The edges count as outside of the slope."""
        g, last = self.g, self.g.constant(size - 1, place.dtype)
        above, below = g.compare("GT", place, self.near), g.compare("LT", place, last)
        if self.count == 2:  # NaN goes to the first element,
            clipped = g.select(above, g.select(below, place, last), self.near)
        else:  # or to the last.
            clipped = g.select(below, g.select(g.compare("LT", place, self.near), self.near, place), last)
        return clipped, g.binary("and", above, below)

    def _reflected(self, place, size):
        g = self.g
        least, span = (0.0, size - 1.0) if self.corners else (-0.5, float(size))
        if not span:
            nothing = g.constant(0, place.dtype, place.shape)
            return nothing, nothing
        place = _with(g, "subtract", place, least)
        is_below, size_of = g.compare("LT", place, self.near), g.unary("abs", place)
        if self.count == 2:
            twice = 2 * span
            flips = g.unary("trunc", _with(g, "divide", size_of, twice))
            extra = g.binary("subtract", size_of, _with(g, "multiply", flips, twice))
            rest = g.binary("subtract", g.constant(twice, place.dtype), extra)
            turns = g.compare("GT", extra, rest)
        else:
            extra = _with(g, "remainder", size_of, span)
            flips = g.convert(g.unary("floor", _with(g, "divide", size_of, span)), "i32")
            rest = g.binary("subtract", g.constant(span, place.dtype), extra)
            turns = g.compare("NE", _with(g, "and", flips, 1), g.constant(0, "i32"))
        one = g.constant(1, place.dtype, place.shape)
        turn = g.select(g.binary("xor", turns, is_below), g.unary("negate", one), one)
        return _with(g, "add", g.select(turns, rest, extra), least), turn

    # ---- Elements of the image, and places for all channels --------------------------------------------

    def vectors(self, places):
        """Index vectors into what flat() gives, of whole numbers along each dim that are within the image."""
        g, flat = self.g, None
        for place, size in zip(places, self.sizes):
            place = g.convert(place, "i64")
            flat = place if flat is None else g.binary("add", _with(g, "multiply", flat, size), place)
        columns = [g.iota(0, "i64", self.shape), flat]
        return g.concatenate([g.reshape(column, (*self.shape, 1)) for column in columns], len(self.shape))

    def flat(self, x):
        return self.g.reshape(x, (*x.shape[:2], math.prod(self.sizes)))

    def for_channels(self, x):
        return self.g.reshape(x, (x.shape[0], 1, *x.shape[1:]))

    def taken(self, places):
        """(the elements, whether they are of the image)"""
        g = self.g
        taken = g.gather(self.flat(self.x), self.vectors(places), [1], [0, 2], [0, 2], [1, self.x.shape[1], 1])
        return taken, self.for_channels(self.within(places))

    def within(self, places):
        return _chain(self.g, "and", [
            self.g.compare(direction, place, self.g.constant(bound, place.dtype))
            for place, size in zip(places, self.sizes) for direction, bound in (("GE", 0), ("LT", size))])

    def weighted(self, places, weight):
        g, (taken, within) = self.g, self.taken(places)
        weight = self.for_channels(weight)
        if self.count == 2 or self.mode == _CUBIC:  # A weight that is NaN is seen beyond the edges.
            return g.binary("multiply", g.select(within, taken, self.near), weight)
        return g.select(within, g.binary("multiply", taken, weight), self.near)

    def put(self, into, places, updates):
        """What is beyond the edges is left out."""
        g = self.g
        nowhere = g.constant(-1, self.x.dtype)
        places = [g.select(self.within(places), place, nowhere) for place in places]
        return g.scatter("add", into, self.vectors(places), updates, [1], [0, 2], [0, 2])

    # ---- What is read around a place -------------------------------------------------------------------

    def around(self, grid):
        """For each dim, the last first, [(place, weight, slope of the weight), ...] of the elements that are read."""
        steps = {_LINEAR: self._linear, _NEAREST: self._nearest, _CUBIC: self._cubic}[self.mode]
        return [steps(*along, size) for along, size in zip(self.coordinates(grid), self.sizes)][::-1]

    def _nearest(self, place, slope, size):
        place, _ = self.inside(place, slope, size)
        return [(self.g.unary("round_nearest_even", place), None, None)]

    def _linear(self, place, slope, size):
        g, (place, slope) = self.g, self.inside(place, slope, size)
        low = g.unary("floor", place)
        high = _with(g, "add", low, 1)
        after = g.binary("subtract", place, low)
        before = (g.binary("subtract", g.constant(1, place.dtype), after) if self.count == 2
                  else g.binary("subtract", high, place))
        return [(low, before, g.unary("negate", slope)), (high, after, slope)]

    def _cubic(self, place, slope, size):
        g, low = self.g, self.g.unary("floor", place)
        part = g.binary("subtract", place, low)
        return [
            (self.inside(_with(g, "add", low, step), slope, size)[0], _cubic_weight(g, part, step),
             g.binary("multiply", slope, _cubic_slope(g, part, step))) for step in range(-1, 3)]


# Of a cubic convolution, as PyTorch's.
_BEND = -0.75


def _cubic_weight(g, part, step):
    """Of the element `step` after the one before a place that is `part` behind that."""
    away = _with(g, "add", part, 1) if step == -1 else part if not step else g.binary(
        "subtract", g.constant(step, part.dtype), part)
    if step in (-1, 2):
        terms = (_BEND, -5 * _BEND, 8 * _BEND, -4 * _BEND)
    else:
        terms = (_BEND + 2, -(_BEND + 3), 0, 1)
    result = g.constant(terms[0], part.dtype, part.shape)
    for term in terms[1:]:
        result = g.binary("multiply", result, away)
        result = _with(g, "add", result, term) if term else result
    return result


def _cubic_slope(g, part, step):
    away = g.unary("abs", g.binary("subtract", g.constant(step, part.dtype), part))
    if step in (-1, 2):
        terms = (3 * _BEND, -10 * _BEND, 8 * _BEND)
    else:
        terms = (3 * (_BEND + 2), -2 * (_BEND + 3), 0)
    result = g.constant(terms[0], part.dtype, part.shape)
    for term in terms[1:]:
        result = _with(g, "add", g.binary("multiply", result, away), term)
    # It grows with the distance, which a place behind the element grows with.
    return result if step <= 0 else g.unary("negate", result)


def _each(around):
    """(places in the order of the image's dims, what is said of each dim) of every element that is read."""
    for corner in itertools.product(*around[::-1]):
        yield [place for place, *_ in corner], corner[::-1]


@rule("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(g, out, x, grid, mode, padding, align_corners):
    sampler = _Sampler(g, x, grid, mode, padding, bool(align_corners))
    if not math.prod(out.shape):
        return g.constant(0, out.dtype, out.shape)
    around = sampler.around(grid)
    if mode == _NEAREST:
        (places, _), = _each(around)
        taken, within = sampler.taken(places)
        return g.convert(g.select(within, taken, sampler.near), out.dtype)
    return g.convert(_chain(g, "add", [
        sampler.weighted(places, _chain(g, "multiply", [weight for _, weight, _ in corner]))
        for places, corner in _each(around)]), out.dtype)


@rule("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(g, out, grad, x, grid, mode, padding, align_corners, output_mask):
    sampler = _Sampler(g, x, grid, mode, padding, bool(align_corners))
    if grad.dtype != x.dtype or not math.prod(grad.shape):
        raise Unsupported("a gradient of nothing, or of another type")
    around = sampler.around(grid)
    grad = g.convert(grad, sampler.x.dtype)
    of_image = sampler.flat(g.constant(0, grad.dtype, x.shape))
    of_grid = [g.constant(0, grad.dtype, grad.shape)] * sampler.count
    for places, corner in _each(around):
        if mode == _NEAREST:
            of_image = sampler.put(of_image, places, grad)
            continue
        weights = [weight for _, weight, _ in corner]
        weight = sampler.for_channels(_chain(g, "multiply", weights))
        of_image = sampler.put(of_image, places, g.binary("multiply", grad, weight))
        for dim, (_, _, slope) in enumerate(corner):
            others = [slope, *weights[:dim], *weights[dim + 1:]]
            of_grid[dim] = g.binary("add", of_grid[dim], sampler.weighted(places, _chain(g, "multiply", others)))
    columns = [
        g.reshape(g.reduce("add", g.binary("multiply", part, grad), [1]), (*sampler.shape, 1)) for part in of_grid]
    of_grid = g.concatenate(columns, len(sampler.shape))
    return tuple(g.convert(each, x.dtype) for each in (g.reshape(of_image, x.shape), of_grid))
