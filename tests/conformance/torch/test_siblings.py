"""Queries, keys and values as one product: which, and that the graph computes the same and knows how it lies."""

import pytest
import torch
from torch.nn import functional as F

from lowered import graph_of
from stoker.lowering.siblings import merged

ATTENTION = frozenset(("aten._scaled_dot_product_flash_attention_for_cpu.default",))
HEADS, ROWS, WIDTH = 2, 40, 32


def heads(x, count=HEADS):
    return x.view(*x.shape[:2], count, -1).transpose(1, 2)


def attention(q, k, v):
    return F.scaled_dot_product_attention(heads(q), heads(k), heads(v))


def of_linears(x, w, b):
    return attention(*(F.linear(x, w[i], b[i]) for i in range(3)))


def without_bias(x, w, b):
    return attention(*(F.linear(x, w[i]) for i in range(3)))


# What is computed of x [2, 40, 32], weights [32, 32] and biases [32] -> how many products there are then.
PROGRAMS = {
    "linears": (of_linears, 1),
    "no bias": (without_bias, 1),
    "two layers": (lambda x, w, b: of_linears(of_linears(x, w, b).transpose(1, 2).flatten(2) + 1, w, b), 2),
    "a bias for one": (lambda x, w, b: attention(F.linear(x, w[0], b[0]), F.linear(x, w[1]), F.linear(x, w[2])), 2),
    "other rows": (lambda x, w, b: attention(F.linear(x + 1, w[0], b[0]), F.linear(x, w[1], b[1]), F.linear(x, w[2], b[2])), 2),
    "one weight": (lambda x, w, b: attention(*[F.linear(x, w[0], b[0])] * 3), 1),
    "one is given out": (lambda x, w, b: (lambda k: (attention(F.linear(x, w[0]), k, F.linear(x, w[2])), k))(F.linear(x, w[1])), 2),
    "one is read by kernels": (
        lambda x, w, b: attention(F.linear(x, w[0]), F.linear(x, w[1]) * 2, F.linear(x, w[2])), 2),
    "a weight is computed": (
        lambda x, w, b: attention(F.linear(x, w[0]), F.linear(x, w[1] * 2), F.linear(x, w[2])), 2),
    "few rows": (lambda x, w, b: of_linears(x[:1], w, b), 3),
    "scaled": (lambda x, w, b: attention(*(
        heads(torch.addmm(b[i], x.view(-1, WIDTH), w[i].t(), alpha=2).view(2, ROWS, WIDTH)).transpose(1, 2).flatten(2)
        for i in range(3))), 3),
    "no attention": (lambda x, w, b: [F.linear(x, w[i], b[i]) for i in range(3)], 3)}


def products_of(gm):
    return sum(node.target in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default) for node in gm.graph.nodes)


class Checked(torch.fx.Interpreter):
    """What a node gives lies as its graph says."""

    def run_node(self, n):
        result, said = super().run_node(n), n.meta.get("val")
        if isinstance(said, torch.Tensor):
            assert (result.shape, result.stride(), result.storage_offset(), result.dtype) == (
                said.shape, said.stride(), said.storage_offset(), said.dtype), n
        return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_is_computed(name):
    function, products = PROGRAMS[name]
    inputs = torch.randn(2, ROWS, WIDTH), *([torch.randn(*shape) for _ in range(3)] for shape in ((WIDTH, WIDTH), (WIDTH,)))
    flat = [inputs[0], *inputs[1], *inputs[2]]
    gm = graph_of(lambda x, *all: function(x, all[:3], all[3:]), *flat)
    found = merged(gm, ATTENTION)
    assert products_of(found) == products
    assert (found is gm) == (products_of(gm) == products)
    used = [value for value, node in zip(flat, (n for n in gm.graph.nodes if n.op == "placeholder"))]
    want = gm(*used)
    torch.testing.assert_close(Checked(found).run(*used), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sizes, products", [((2, 2, 2), 1), ((4, 2, 2), 1), ((2, 2, 4), 1)])
def test_products_of_other_sizes_are_one_too(sizes, products):
    x, weights = torch.randn(2, ROWS, WIDTH), [torch.randn(16 * size, WIDTH) for size in sizes]

    def function(x, *weights):
        q, k, v = (F.linear(x, weight) for weight in weights)
        q, k, v = (heads(each, each.shape[-1] // 16) for each in (q, k, v))
        most = max(each.shape[1] for each in (q, k, v))
        q, k, v = (each.expand(-1, most, -1, -1) if each.shape[1] == 1 else each[:, :2] for each in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v)

    gm = graph_of(function, x, *weights)
    found = merged(gm, ATTENTION)
    assert products_of(found) == products
    torch.testing.assert_close(Checked(found).run(x, *weights), gm(x, *weights), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows, width, products", [(1024, 768, 1), (4096, 768, 3), (64, 2048, 3)])
def test_what_fills_a_gpu_or_has_a_large_weight_stays(rows, width, products):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x, weights = torch.empty(1, rows, width, dtype=torch.bfloat16), [
            torch.empty(width, width, dtype=torch.bfloat16) for _ in range(3)]
        gm = graph_of(lambda x, *w: attention(*(F.linear(x, each) for each in w)), x, *weights)
    assert products_of(merged(gm, ATTENTION)) == products
