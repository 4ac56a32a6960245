"""How results of advanced indexing lie: as the tensor and its indices do."""

from math import prod

import torch

from ..graph.layout import is_row_major, row_major
from ..pytorch.operators import look_at_real_tensors


def lies_otherwise(node):
    """Does the trace of an index not say how its result lies? Where the indices lie row-major it follows the tensor, but
    for dims of one element, along which it does not see that indices have strides too."""
    x, indices = node.args[:2]
    values = [source.meta["val"] for source in indices if source is not None]
    if any(isinstance(size, int) and size == 1 for size in node.meta["val"].shape):
        values.append(x.meta["val"])
    return not all(is_row_major(each) for each in values)


def strides_of(shape, x, indices):
    """Of x[indices]: the operator goes through the tensor and its indices at once, as they lie."""
    if 0 in shape:
        return row_major(tuple(shape)).strides
    indices += [None] * (x.dim() - len(indices))
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    together = dims == list(range(dims[0], dims[-1] + 1))
    first = dims[0] if together else 0
    kept = [x.stride(dim) for dim in range(x.dim()) if dim not in dims]
    with look_at_real_tensors():  # Of which views lie as in eager where a dim has one element.
        given = torch.broadcast_tensors(*(
            torch.empty_strided(indices[dim].shape, indices[dim].stride(), device="meta") for dim in dims))
        if x.device.type != "cpu" and len({index.stride() for index in given}) > 1:
            given = [index.contiguous() for index in given]
        rank = given[0].dim()
        along = [index.view((1,) * first + index.shape + (1,) * (len(kept) - first)) for index in given]
    operands = [(*kept[:first], *[0] * rank, *kept[first:])]
    operands += [
        tuple(0 if index.shape[dim] < size else index.stride(dim) for dim, size in enumerate(shape)) for index in along]
    return _strides_of_loop(shape, operands)


def _strides_of_loop(shape, operands):
    """As PyTorch's TensorIterator lays out what it allocates: `operands` are the strides of each, 0 where it is
    broadcast."""
    order = list(reversed(range(len(shape))))  # The fastest first.
    for end in range(1, len(order)):
        place = end
        for before in reversed(range(end)):
            relation = _compared(order[before], order[place], shape, operands)
            if relation < 0:
                break
            if relation > 0:
                order[before], order[place] = order[place], order[before]
                place = before
    return tuple(prod(shape[faster] for faster in order[:order.index(dim)]) for dim in range(len(shape)))


def _compared(one, other, shape, operands):
    for strides in operands:
        if strides[one] and strides[other]:
            if strides[one] != strides[other]:
                return strides[one] - strides[other]
            if shape[one] > shape[other]:
                return 1
    return 0
