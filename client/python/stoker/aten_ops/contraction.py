"""Matrix products. Each is one dot_general; factors and biases are pointwise work after it."""

from .rules.registry import Unsupported, compute_dtype, rule


@rule("mm", "bmm")
def mm(g, out, a, b):
    return g.matmul(a, b)


@rule("mv")
def mv(g, out, a, b):
    return g.dot(a, b, [], [1], [], [0])


@rule("dot", "vdot")
def dot(g, out, a, b):
    return g.dot(a, b, [], [0], [], [0])


@rule("matmul")
def matmul(g, out, a, b):
    if b.rank == 1:
        return g.dot(a, b, [], [a.rank - 1], [], [0])
    if a.rank == 1:
        a = g.reshape(a, (1, *a.shape))
    if b.rank == 2:
        return g.reshape(g.dot(a, b, [], [a.rank - 1], [], [0]), out.shape)
    rank = max(a.rank, b.rank)
    batch = out.shape[:rank - 2]
    a = g.broadcast(a, batch + a.shape[-2:])
    b = g.broadcast(b, batch + b.shape[-2:])
    return g.reshape(g.matmul(a, b), out.shape)


@rule("linear")
def linear(g, out, x, weight, bias=None):
    result = g.dot(x, weight, [], [x.rank - 1], [], [1])
    return result if bias is None else g.binary("add", result, bias)


def _biased(g, out, bias, product, beta, alpha):
    """beta * bias + alpha * product."""
    if beta == 1 and alpha == 1:
        return g.binary("add", product, bias)
    dtype = compute_dtype(out.dtype)
    result = g.convert(product, dtype)
    if alpha != 1:
        result = g.with_scalar("multiply", result, alpha)
    if beta != 0:
        bias = g.convert(bias, dtype)
        bias = g.with_scalar("multiply", bias, beta) if beta != 1 else bias
        result = g.binary("add", result, bias)
    return g.convert(result, out.dtype)


@rule("addmm", "baddbmm")
def addmm(g, out, bias, a, b, beta=1, alpha=1):
    return _biased(g, out, bias, g.matmul(a, b), beta, alpha)


@rule("addmv")
def addmv(g, out, bias, a, b, beta=1, alpha=1):
    return _biased(g, out, bias, mv(g, out, a, b), beta, alpha)


@rule("addbmm")
def addbmm(g, out, bias, a, b, beta=1, alpha=1):
    summed = g.dot(a, b, [], [0, 2], [], [0, 1])
    return _biased(g, out, bias, summed, beta, alpha)


@rule("addr")
def addr(g, out, x, a, b, beta=1, alpha=1):
    if out.dtype == "bool":
        raise Unsupported("bool arithmetic")
    dtype = compute_dtype(out.dtype)
    a, b = g.convert(a, dtype), g.convert(b, dtype)
    product = g.binary("multiply", g.reshape(a, (*a.shape, 1)), b)
    return g.convert(
        g.broadcast(_biased(g, out, g.convert(x, dtype), product, beta, alpha), out.shape), out.dtype)


@rule("_trilinear")
def trilinear(g, out, a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """The sum over some dims of a product of three, each with dims of size 1 put in."""
    dtype = compute_dtype(out.dtype)
    product = None
    for x, dims in ((a, expand1), (b, expand2), (c, expand3)):
        shape = list(x.shape)
        for dim in sorted(dims):
            shape.insert(dim, 1)
        x = g.reshape(g.convert(x, dtype), tuple(shape))
        product = x if product is None else g.binary("multiply", product, x)
    return g.convert(g.reduce("add", product, sumdim), out.dtype)
