"""What is changed in Dynamo's graph before AOTAutograd takes it apart: loops that are given one tensor twice, and operators
whose kernels, where no gradient is asked for, lay results out row-major, while their traces say otherwise. And calls in it
that give nothing, and are given nothing that it computes: they are there for what they do to PyTorch's own state
(`torch.set_float32_matmul_precision`), which a trace does, and no functional graph says again."""

import types

import torch

from .operators import look_at_real_tensors
from .refusals import GIVEN, is_pytorchs

# What comes among a loop's arguments before what it carries from trip to trip.
_GRAPHS = {"while_loop": 2, "scan": 1}
_ROW_MAJOR = frozenset(("max_pool1d",))
# What others undo in the same graph, what Dynamo's bytecode does once more, and what only asks or loads something.
_KNOWN = frozenset((
    "torch._C._set_grad_enabled", "torch._C._set_fwd_grad_enabled", "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast", "torch.autograd.grad_mode._enter_inference_mode",
    "torch.autograd.grad_mode._exit_inference_mode", "torch.autograd.forward_ad._maybe_load_decompositions",
    "torch._C._log_api_usage_once"))
_ASKING = ("_check", "_assert")  # Of the module torch.
_OF_TRANSFORMS = ("torch._functorch.", "torch._C._functorch.", "torch._C._autograd.")  # They unwind what they do.


def made_ready(gm):
    for module in list(gm.modules()):
        if isinstance(module, torch.fx.GraphModule) and any(
                [_give_apart(node) or _lay_out(node) for node in list(module.graph.nodes)]):
            module.recompile()


def made_of_numbers(gm):
    """The tensors that calls in it make of plain numbers, `torch.tensor([1, 2])`: a trace of it holds these."""
    found = []
    for node in gm.graph.find_nodes(op="call_function", target=torch.tensor):
        if _are_numbers(node.args) and isinstance(node.kwargs.get("dtype"), (torch.dtype, type(None))):
            with look_at_real_tensors():
                found.append(torch.tensor(*node.args, dtype=node.kwargs.get("dtype"), device="cpu"))
    return found


def _are_numbers(value):
    if isinstance(value, (list, tuple)):
        return all(_are_numbers(each) for each in value)
    return type(value) in (bool, int, float, complex)


def _give_apart(node):
    """Makes a loop carry tensors with memory of their own where another operand has it too: AOTAutograd refuses the whole
    graph otherwise, and no loop writes to what it is given. Was there anything to do?"""
    place = _GRAPHS.get(str(node.target)) if node.op == "call_function" else None
    if place is None or place >= len(node.args):
        return False
    given = [memory for each in node.args[place:] for memory in _memory_of(each)]
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


def has_context_of_checkpoint(gm):
    """Does a function of the program's say, while AOTAutograd traces, what a backward pass computes again?"""
    return any(module.meta.get("_checkpoint_context_fn") is not None for module in gm.modules() if hasattr(module, "meta"))


def for_their_effect(gm):
    """Names of the functions that are called so, also in the graphs that its operators run."""
    graphs = [module.graph for module in gm.modules() if isinstance(module, torch.fx.GraphModule)]
    called = [_name_of(node.target) for graph in graphs for node in graph.nodes if _is_for_its_effect(node)]
    return [
        name for name in called if name not in _KNOWN and not name.startswith(_OF_TRANSFORMS)
        and not name.removeprefix("torch.").startswith(_ASKING)]


def _is_for_its_effect(node):
    return node.op == "call_function" and isinstance(
        node.target, (types.FunctionType, types.BuiltinFunctionType)) and node.meta.get(GIVEN) is None and all(
        _is_for_its_effect(each) for each in node.all_input_nodes)


def _name_of(function):
    return f"{function.__module__}.{function.__name__}"
