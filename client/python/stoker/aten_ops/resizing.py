"""Resizing along the trailing dims: each new place is one old place, or a weighted sum of old ones."""

from ..graph.values import element_of
from .indexing import taken_at
from .rules.registry import Unsupported, compute_dtype, rule


def _weighted(g, x, dim, rows):
    """Each place along `dim` becomes a weighted sum of the old ones: rows[new][old]."""
    flat = [weight for row in rows for weight in row]
    matrix = g.reshape(g.vector(flat, x.dtype), (len(rows), len(rows[0])))
    product = g.dot(x, matrix, [], [dim], [], [1])
    order = list(range(x.rank - 1))
    order.insert(dim, x.rank - 1)
    return g.transpose(product, order)


def _scales(sizes, outputs, factors):
    """Old places per new place along each dim."""
    return [
        1 / factor if factor else size / n
        for size, n, factor in zip(sizes, outputs, factors or [None] * len(sizes))]


def _nearest(count):
    def emit(g, out, x, output_size, *factors):
        if len(factors) == 1 and factors[0] is not None and not isinstance(factors[0], float):
            factors = factors[0]
        sizes, outputs = x.shape[-count:], out.shape[-count:]
        for place, (size, n, scale) in enumerate(
                zip(sizes, outputs, _scales(sizes, outputs, factors))):
            dim = x.rank - count + place
            if n % size == 0 and scale == size / n:
                x = _repeated(g, x, dim, n // size)
                continue
            x = taken_at(g, x, dim, [min(int(index * scale), size - 1) for index in range(n)])
        return x

    return emit


def _repeated(g, x, dim, times):
    if times == 1:
        return x
    wide = x.shape[:dim + 1] + (times,) + x.shape[dim + 1:]
    kept = [d for d in range(len(wide)) if d != dim + 1]
    merged = x.shape[:dim] + (x.shape[dim] * times,) + x.shape[dim + 1:]
    return g.reshape(g.broadcast_in_dim(x, kept, wide), merged)


for _count in (1, 2, 3):
    rule(f"upsample_nearest{_count}d", f"upsample_nearest{_count}d.vec")(_nearest(_count))


def _linear_rows(size, n, scale, align_corners):
    rows = []
    for index in range(n):
        if align_corners:
            place = index * (size - 1) / (n - 1) if n > 1 else 0.0
        else:
            place = max(0.0, (index + 0.5) * scale - 0.5)
        low = min(int(place), size - 1)
        high = min(low + 1, size - 1)
        row = [0.0] * size
        row[low] += 1 - (place - low)
        row[high] += place - low
        rows.append(row)
    return rows


def _linear_resize(count):
    def emit(g, out, x, output_size, align_corners, *factors):
        if len(factors) == 1 and factors[0] is not None and not isinstance(factors[0], float):
            factors = factors[0]
        sizes, outputs = x.shape[-count:], out.shape[-count:]
        wide = g.convert(x, compute_dtype(x.dtype))
        for place, (size, n, scale) in enumerate(
                zip(sizes, outputs, _scales(sizes, outputs, factors))):
            if size != n:
                wide = _weighted(
                    g, wide, x.rank - count + place, _linear_rows(size, n, scale, align_corners))
        return g.convert(wide, out.dtype)

    return emit


for _count, _kind in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    rule(f"upsample_{_kind}", f"upsample_{_kind}.vec")(_linear_resize(_count))


def _smooth_rows(size, n, scale, dtype):
    """{old place: weight} for each new one, of tents that are as wide as what they stand for: nothing of an image that shrinks
    is passed over. Rounded as PyTorch does, which tells what is at the edge of a tent."""
    def rounded(value):
        return element_of(value, dtype)

    scale = rounded(scale)
    support = max(scale, 1.0)
    steep = rounded(1 / scale) if scale >= 1 else 1.0
    rows = []
    for index in range(n):
        center = rounded(scale * (index + 0.5))
        first = max(int(rounded(rounded(center - support) + 0.5)), 0)
        last = min(int(rounded(rounded(center + support) + 0.5)), size)
        away = [rounded(rounded(rounded(place - center) + 0.5) * steep) for place in range(first, last)]
        weights = [rounded(1 - abs(x)) if abs(x) < 1 else 0.0 for x in away]
        total = sum(weights) or 1.0
        rows.append({place: weight / total for place, weight in enumerate(weights, first)})
    return rows


def _turned(rows, size):
    """{new place: weight} for each old one."""
    turned = [{} for _ in range(size)]
    for index, row in enumerate(rows):
        for place, weight in row.items():
            turned[place][index] = weight
    return turned


def _chosen(g, x, dim, rows):
    """As _weighted(), of rows {place: weight}: what is there alone is read, as in PyTorch."""
    width = max(1, *map(len, rows))
    shape = (*x.shape[:dim], len(rows), width, *x.shape[dim + 1:])

    def listed(of_row, dtype):
        flat = [value for row in rows for value in (*of_row(row), *[0] * (width - len(row)))]
        table = g.reshape(g.vector(flat, dtype), (len(rows), width))
        return flat, g.broadcast_in_dim(table, (dim, dim + 1), shape)

    places, _ = listed(list, "i64")
    _, weights = listed(dict.values, x.dtype)
    _, used = listed(lambda row: [True] * len(row), "bool")
    read = g.reshape(taken_at(g, x, dim, places), shape)
    terms = g.select(used, g.binary("multiply", read, weights), g.constant(0, x.dtype))
    return g.reduce("add", terms, [dim + 1])


def _smooth_resize(g, x, dtype, sizes, outputs, align_corners, factors, transposed):
    if dtype not in ("f32", "f64"):
        raise Unsupported(f"{dtype}, of which PyTorch has no kernel, or one in whole numbers")
    if len(factors) == 1 and isinstance(factors[0], (list, tuple)):
        factors = factors[0]
    factors = [*(factors or ()), None, None][:2]
    for place in (1, 0):  # The last dim first, as PyTorch does.
        size, n, factor = int(sizes[place]), int(outputs[place]), factors[place]
        scale = 1 / factor if factor and factor > 0 else size / n
        if align_corners:
            scale = (size - 1) / (n - 1) if n > 1 else 0.0
        if size != n or scale != 1:
            rows = _smooth_rows(size, n, scale, dtype)
            x = _chosen(g, x, x.rank - 2 + place, _turned(rows, size) if transposed else rows)
    return x


@rule("_upsample_bilinear2d_aa", "_upsample_bilinear2d_aa.vec")
def smooth_resize(g, out, x, output_size, align_corners, *factors):
    return _smooth_resize(g, x, out.dtype, x.shape[-2:], out.shape[-2:], align_corners, factors, False)


@rule("_upsample_bilinear2d_aa_backward")
def smooth_resize_backward(g, out, grad, output_size, input_size, align_corners, *factors):
    return _smooth_resize(g, grad, out.dtype, out.shape[-2:], grad.shape[-2:], align_corners, factors, True)
