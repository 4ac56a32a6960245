"""The joint graph of forward and backward, before AOTAutograd parts it."""

import torch

_VIEWS = frozenset((
    torch.ops.aten.t.default, torch.ops.aten.transpose.int, torch.ops.aten.permute.default,
    torch.ops.aten.view.default, torch.ops.aten.unsqueeze.default, torch.ops.aten.expand.default))


def part(change, joint_module, joint_inputs, **options):
    """As AOTAutograd does by default, after change(graph module): the backward gets what it reads of the forward. A weight of 32
    steps, transposed in each, it would get 32 times, and not know that it is one."""
    from torch._functorch.partitioners import default_partition

    change(joint_module)
    merge_views(joint_module.graph)
    drop_running_statistics(joint_module.graph)
    return default_partition(joint_module, joint_inputs, **options)


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
