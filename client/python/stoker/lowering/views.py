"""Which nodes of a graph show the memory of others."""

import operator

import torch

from ..pytorch.operators import schema_of


def viewed(node):
    """The node of which this one is a view, or one of several views; None if it has memory of its own."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        source = node.args[0]
        return source if isinstance(source, torch.fx.Node) and viewed(source) is not None else None
    schema = schema_of(node.target)
    if schema is None or not schema.arguments:
        return None
    alias = schema.arguments[0].alias_info
    return node.args[0] if alias is not None and not alias.is_write else None


def views_up_to(node, roots):
    """The views that lead from one of the roots to this node, in order; empty if none do."""
    chain = []
    while (source := viewed(node)) is not None:
        chain.append(node)
        node = source
        if node in roots:
            return chain[::-1]
    return []


def owner_of(node):
    """The node whose memory a view shows."""
    while (source := viewed(node)) is not None:
        node = source
    return node
