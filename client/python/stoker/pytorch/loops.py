"""Loops as Dynamo's graphs have them."""

import torch

# What comes among their arguments before what they carry from trip to trip.
_GRAPHS = {"while_loop": 2, "scan": 1}


def given_apart(gm):
    """Makes loops of Dynamo's graph carry tensors with memory of their own where another operand has it too: AOTAutograd
    refuses the whole graph otherwise, and no loop writes to what it is given."""
    for module in list(gm.modules()):
        if isinstance(module, torch.fx.GraphModule) and any([_give_apart(node) for node in list(module.graph.nodes)]):
            module.recompile()


def _give_apart(node):
    """Was it such a loop?"""
    place = _GRAPHS.get(str(node.target)) if node.op == "call_function" else None
    if place is None or place >= len(node.args):
        return False
    given = [memory for memory in map(_memory_of, node.args[place:]) for memory in memory]
    carried = list(node.args[place])
    shared = [each for each in carried if any(given.count(memory) > 1 for memory in _memory_of(each))]
    if not shared:
        return False
    node.update_arg(place, type(node.args[place])(_copy(each, node) if each in shared else each for each in carried))
    return True


def _memory_of(argument):
    """Of the tensors in it."""
    if isinstance(argument, (list, tuple)):
        return [memory for item in argument for memory in _memory_of(item)]
    value = argument.meta.get("example_value") if isinstance(argument, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return []
    return [value.untyped_storage()._cdata]


def _copy(argument, node):
    with node.graph.inserting_before(node):
        copy = node.graph.call_method("clone", (argument,))
    copy.meta = dict(argument.meta, example_value=argument.meta["example_value"].clone())
    return copy
