"""Resizing along the trailing dims: each new place is one old place, or a weighted sum of old ones."""

from .indexing import taken_at
from .rules.registry import compute_dtype, rule


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
