"""Operators of Dynamo's graph whose kernels, where no gradient is asked for, lay results out row-major, and whose traces,
which take them apart, say otherwise."""

import torch

from .refusals import is_pytorchs

_NAMES = frozenset(("max_pool1d",))


def laid_out(gm):
    """Makes the graph say so."""
    for module in list(gm.modules()):
        if isinstance(module, torch.fx.GraphModule) and any([_lay_out(node) for node in list(module.graph.nodes)]):
            module.recompile()


def _lay_out(node):
    """Was it such an operator?"""
    value = node.meta.get("example_value")
    if getattr(node.target, "__name__", "") not in _NAMES or not is_pytorchs(node):
        return False
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.requires_grad:
        return False
    with node.graph.inserting_after(node):
        made = node.graph.call_method("contiguous", (node,))
    made.meta = dict(node.meta, example_value=value.contiguous())
    node.replace_all_uses_with(made, delete_user_cb=lambda user: user is not made)
    return True
