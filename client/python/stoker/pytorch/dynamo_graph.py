"""What is changed in Dynamo's graph before AOTAutograd takes it apart: loops that are given one tensor twice, and operators
whose kernels, where no gradient is asked for, lay results out row-major, while their traces say otherwise."""

import torch

from .refusals import GIVEN, is_pytorchs

# What comes among a loop's arguments before what it carries from trip to trip.
_GRAPHS = {"while_loop": 2, "scan": 1}
_ROW_MAJOR = frozenset(("max_pool1d",))


def made_ready(gm):
    for module in list(gm.modules()):
        if isinstance(module, torch.fx.GraphModule) and any(
                [_give_apart(node) or _lay_out(node) for node in list(module.graph.nodes)]):
            module.recompile()


def _give_apart(node):
    """Makes a loop carry tensors with memory of their own where another operand has it too: AOTAutograd refuses the whole
    graph otherwise, and no loop writes to what it is given. Was there anything to do?"""
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
    value = argument.meta.get(GIVEN) if isinstance(argument, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return []
    return [value.untyped_storage()._cdata]


def _copy(argument, node):
    with node.graph.inserting_before(node):
        return _called("clone", argument)


def _lay_out(node):
    """Makes the graph say so of such an operator. Was it one?"""
    value = node.meta.get(GIVEN)
    if getattr(node.target, "__name__", "") not in _ROW_MAJOR or not is_pytorchs(node):
        return False
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.requires_grad:
        return False
    with node.graph.inserting_after(node):
        made = _called("contiguous", node)
    node.replace_all_uses_with(made, delete_user_cb=lambda user: user is not made)
    return True


def _called(method, node):
    """A call of that method of it, where nodes are inserted now."""
    made = node.graph.call_method(method, (node,))
    made.meta = dict(node.meta, **{GIVEN: getattr(node.meta[GIVEN], method)()})
    return made
