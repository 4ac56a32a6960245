"""What becomes of the joint graph before it is parted."""

import torch
from stoker.pytorch.joint_graph import merge_views


def graph_of(function, *shapes):
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(function)(*(torch.zeros(shape) for shape in shapes)).graph


def targets(graph):
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


def test_merge_views_of_one_tensor_are_one():
    graph = graph_of(lambda x, w: (x @ w.t() + x @ w.t(), x @ w.t()), (2, 3), (4, 3))
    merge_views(graph)
    graph.lint()
    assert targets(graph).count("aten.t.default") == 1


def test_merge_views_that_differ_stay():
    graph = graph_of(lambda x: (x.view(6).sum(), x.view(1, 6).sum(), (x + 1).view(6).sum()), (2, 3))
    merge_views(graph)
    assert targets(graph).count("aten.view.default") == 3


def test_merge_views_that_are_results_stay():
    graph = graph_of(lambda x: (x.t(), x.t(), x.t().sum()), (2, 3))
    merge_views(graph)
    assert targets(graph).count("aten.t.default") == 3
