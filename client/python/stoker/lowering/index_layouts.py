"""How results of advanced indexing lie. PyTorch's operator has them lie as the tensor and its indices do; its trace does not
look at the indices."""

from math import prod

import torch

from ..aten_ops import Unsupported
from ..graph.layout import layout_of, row_major
from ..pytorch.operators import INDEXING, fake_mode


def as_eager(gm):
    """The graph, or a copy of it whose values lie as in eager. All sizes are numbers."""
    if not any(map(_lies_otherwise, gm.graph.nodes)):
        return gm
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    copied = torch.fx.GraphModule(gm, graph)
    with fake_mode():
        _Propagation(copied).run(*[_made_again(node.meta["val"]) for node in graph.find_nodes(op="placeholder")])
    return copied


def require_traced(gm):
    """Unsupported for a graph with sizes that vary which as_eager() would copy."""
    if any(map(_lies_otherwise, gm.graph.nodes)):
        raise Unsupported("an index whose elements lie in another order")


def _lies_otherwise(node):
    """An index, or the tensor that is indexed, has its dims in another order than row-major."""
    if node.target not in INDEXING:
        return False
    values = [source.meta["val"] for source in node.args[1] if source is not None]
    return any(layout_of(value).order != tuple(range(len(value.shape))) for value in values)


class _Propagation(torch.fx.Interpreter):
    """Notes the value of every node."""

    def run_node(self, node):
        value = super().run_node(node)
        if node.target in INDEXING:
            x, indices = self.map_nodes_to_values(node.args, node)[:2]
            value = _made_again(value, _strides(value.shape, x, list(indices)))
        node.meta["val"] = value
        return value


def _made_again(value, strides=None):
    """In the mode that is on."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(
        value.shape, value.stride() if strides is None else strides, dtype=value.dtype, device=value.device)


def _strides(shape, x, indices):
    """Of x[indices]: the operator goes through the tensor and its indices at once, as they lie."""
    indices += [None] * (x.dim() - len(indices))
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given = torch.broadcast_tensors(*(indices[dim] for dim in dims))
    rank = given[0].dim()
    together = dims == list(range(dims[0], dims[-1] + 1))
    first = dims[0] if together else 0
    kept = [x.stride(dim) for dim in range(x.dim()) if dim not in dims]
    operands = [(*kept[:first], *[0] * rank, *kept[first:])]
    if x.device.type != "cpu" and len({index.stride() for index in given}) > 1:
        given = [index.contiguous() for index in given]
    operands += [(*[0] * first, *index.stride(), *[0] * (len(kept) - first)) for index in given]
    if 0 in shape:
        return row_major(tuple(shape)).strides
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
