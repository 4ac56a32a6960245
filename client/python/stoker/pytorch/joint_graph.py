"""The joint graph of forward and backward, before AOTAutograd parts it."""

import torch

_VIEWS = frozenset((
    torch.ops.aten.t.default, torch.ops.aten.transpose.int, torch.ops.aten.permute.default,
    torch.ops.aten.view.default, torch.ops.aten.unsqueeze.default, torch.ops.aten.expand.default))


_SIDE = "partitioner_tag"  # In the meta of a node.
TANGENTS = "tangents"  # In the names of gradients that a backward graph is given.


def part(change, joint_module, joint_inputs, *, num_fwd_outputs, **options):
    """As AOTAutograd does by default, after change(graph module, Sides): the backward gets what it reads of the forward. A weight
    of 32 steps, transposed in each, it would get 32 times, and not know that it is one."""
    from torch._functorch.partitioners import default_partition

    merge_views(joint_module.graph)
    drop_running_statistics(joint_module.graph)
    change(joint_module, Sides(joint_module.graph, num_fwd_outputs))
    return default_partition(joint_module, joint_inputs, num_fwd_outputs=num_fwd_outputs, **options)


class Sides:
    """Which nodes are `forward`, which of them its `results`, which the backward gives as `gradients`. `is_of_program`: does the
    program say itself what is computed again?"""

    def __init__(self, graph, num_fwd_outputs):
        results = graph.output_node().args[0]
        self.gradients = _nodes(results[num_fwd_outputs:])
        self.is_of_program = any("recompute" in node.meta for node in graph.nodes)
        self.forward = _forward(graph, _nodes(results[:num_fwd_outputs]))
        self.results = _nodes(results[:num_fwd_outputs])

    def is_of_backward(self, node):
        return node not in self.forward and node.op == "call_function"

    def put_beside(self, node, other):
        """A new node is on the side of the other."""
        node.meta = {name: value for name, value in node.meta.items() if name != _SIDE}
        if _SIDE in other.meta:
            node.meta[_SIDE] = other.meta[_SIDE]
        if other in self.forward:
            self.forward.add(node)


def _nodes(values):
    return {value for value in values if isinstance(value, torch.fx.Node)}


def is_backward(gm):
    """Is the graph given gradients? Nobody but its caller holds most of what it is given besides."""
    return any(_is_of_gradients(node) for node in gm.graph.find_nodes(op="placeholder"))


def _is_of_gradients(node):
    return node.op == "placeholder" and TANGENTS in str(node.target)


def _forward(graph, results):
    """All up to the last that the results follow from, or that was traced as forward, but for what follows from gradients."""
    needed, of_gradients = set(results), set()
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    nodes, last = [], 0
    for node in graph.nodes:
        if _is_of_gradients(node) or any(source in of_gradients for source in node.all_input_nodes):
            of_gradients.add(node)
            continue
        if node in needed or node.op == "placeholder" or node.meta.get(_SIDE) == "is_forward":
            last = len(nodes) + 1
        nodes.append(node)
    return set(nodes[:last])


def drop_running_statistics(graph):
    """The gradient of a batch norm in training reads the statistics of the batch. Running ones, which the forward changes,
    would be kept for it all the same."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.native_batch_norm_backward.default):
        *before, _, _, mean, inverse, is_training, epsilon, mask = node.args
        if is_training:
            node.args = (*before, None, None, mean, inverse, is_training, epsilon, mask)


def merge_views(graph):
    """Equal views of one tensor become one, but for results: whether these are one object is seen."""
    results = set(graph.output_node().all_input_nodes)
    first = {}
    for node in graph.nodes:
        if node.op != "call_function" or node.target not in _VIEWS or node in results:
            continue
        # A node's text is its name, which no other node has.
        earlier = first.setdefault((node.target, repr(node.args), repr(node.kwargs)), node)
        if earlier is not node:
            node.replace_all_uses_with(earlier)
            graph.erase_node(node)
