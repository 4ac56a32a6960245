"""AOTAutograd: from Dynamo's graph to functional ATen graphs."""

import torch

from ..base.signals import let_through
from . import attention_masks, dynamo_graph, facts, joint_graph
from .names import GRAPHS, WEIGHTS
from .operators import look_at_real_tensors
from .sizes import example_of


_WEIGHTS_OTHERWISE = "weights are handed over in every call"


def functional(gm, example_inputs, forward, backward, inference, change_joint, parted=lambda backward: None):
    """A callable for Dynamo's `gm`. forward, backward and inference(graph module, inputs) give a boxed callable for
    each functional graph. change_joint(graph module, its Sides) may change that of forward and backward before it is parted;
    parted(graph module) gets the backward one, if this PyTorch shows it, before forward() is called."""
    dynamo_graph.made_ready(gm)
    with attention_masks.without_full_ones(gm, example_inputs):
        return _functional(gm, example_inputs, forward, backward, inference, change_joint, parted)


def _functional(gm, example_inputs, forward, backward, inference, change_joint, parted):
    if not facts.has(GRAPHS, "PyTorch's documented way to them, which loads Inductor, is taken"):
        from torch._dynamo.backends.common import aot_autograd

        return aot_autograd(
            fw_compiler=forward, bw_compiler=backward, inference_compiler=inference)(gm, example_inputs)
    from torch._dynamo.utils import flatten_graph_inputs
    from torch._functorch.aot_autograd import aot_module_simplified

    def part(joint_module, joint_inputs, **options):
        sides = joint_graph.part(change_joint, joint_module, joint_inputs, **options)
        parted(sides[1])
        return sides

    def trace(gm, inputs):
        traced = aot_module_simplified(
            gm, inputs, fw_compiler=forward, bw_compiler=backward, inference_compiler=inference,
            partition_fn=part)
        _keep_saved_tensors()
        return traced

    if any(isinstance(x, (list, tuple, dict)) for x in example_inputs):
        return flatten_graph_inputs(gm, example_inputs, trace)
    return trace(gm, example_inputs)


def _keep_saved_tensors():
    """No kernel of ours writes to what the forward graph saved: a backward pass may be repeated (retain_graph)."""
    found = metadata()
    if getattr(found, "bw_donated_idxs", None):
        found.bw_donated_idxs = []


def errors_of_dynamo():
    """Classes of what is not ours to catch."""
    try:
        from torch._dynamo.exc import TorchDynamoException
    except ImportError as error:
        let_through(error)
        return ()
    return (TorchDynamoException,)


def metadata():
    """AOTAutograd's metadata of the graph that is being compiled, or None."""
    from torch._guards import TracingContext

    context = TracingContext.try_get()
    return None if context is None else context.fw_metadata


def held():
    """Tensors that Dynamo's graph holds, the first inputs of the graph that is being compiled."""
    from torch._guards import TracingContext

    context = TracingContext.try_get()
    return () if context is None else tuple(context.params_flat or ())


def static_inputs():
    """Positions of parameters and buffers among the inputs of the graph being compiled, but for those that it changes:
    they are another thing in each call."""
    if not facts.has(WEIGHTS, _WEIGHTS_OTHERWISE):
        return ()
    found = metadata()
    if found is None:
        return ()
    changed = _changed(found)
    return tuple(index for index in found.static_input_indices if index not in changed)


def require_writable(gm):
    """NotImplementedError where AOTAutograd's runtime would copy into an input of which elements are one, as expand() and
    as_strided() make them: PyTorch may refuse that after other inputs have changed, operators that change such a tensor may
    pass, and what they write is seen in other places, too."""
    found = metadata() if facts.has(WEIGHTS, _WEIGHTS_OTHERWISE) else None
    inputs = gm.graph.find_nodes(op="placeholder")
    if found is None or len(found.input_info) != len(inputs):
        return
    for index in found.mutated_inp_runtime_indices:
        value = inputs[index].meta.get("val")
        if isinstance(value, torch.Tensor) and has_elements_twice(value):
            raise NotImplementedError(f"it changes an input with strides {tuple(value.stride())}, of which elements are one")


def has_elements_twice(tensor):
    """May two of its elements be one? What is known of sizes that vary is their example: a guard of them is none."""
    reach = 0  # Of the dims with smaller steps.
    dims = [(example_of(stride), example_of(size)) for size, stride in zip(tensor.shape, tensor.stride())]
    for stride, size in sorted(dim for dim in dims if None not in dim):
        if size > 1 and stride <= reach:
            return True
        reach += max(0, size - 1) * stride
    return False


# In the meta of a graph's input: the place of the output that the caller copies into it.
UPDATED_BY = "stoker_updated_by"


def note_updates(gm, is_training):
    """Marks the inputs that AOTAutograd's runtime updates by a copy after the functional graph `gm`, just traced. A copy of
    memory into itself does nothing but what a change in place does to a tensor, so the graph may write there itself.
    Where autograd sees the change it may not."""
    found = metadata() if facts.has(WEIGHTS, _WEIGHTS_OTHERWISE) else None
    if found is None or found.tokens or len(found.input_info) != len(gm.graph.find_nodes(op="placeholder")):
        return
    updates = []
    inputs = gm.graph.find_nodes(op="placeholder")
    for place, index in enumerate(found.mutated_inp_runtime_indices):
        info = found.input_info[index]
        is_plain = info.mutates_data and not info.mutates_metadata and not info.mutates_storage_metadata
        if is_plain and not (is_training and (info.requires_grad or not _lies_as_its_view(inputs[index].meta["val"]))):
            updates.append((place, index))
    mark_updates(gm, updates)


def _lies_as_its_view(tensor):
    """An input that autograd's function returns is shown by a view, in which dims of one element may lie otherwise: that is
    refused as the source of a copy into the input. False where it is not known."""
    if not any(isinstance(size, int) and size == 1 for size in tensor.shape):
        return True
    if not all(isinstance(number, int) for number in (*tensor.shape, *tensor.stride())):
        return False
    with look_at_real_tensors():
        return tensor.stride() == torch.empty(tensor.shape, device="meta").stride()


def mark_updates(gm, updates):
    """`updates`: (place of an output, place of the input that it is copied into)s."""
    inputs = gm.graph.find_nodes(op="placeholder")
    for place, index in updates:
        inputs[index].meta[UPDATED_BY] = place


def inputs_that_change(count):
    """Places of those that the graph just compiled changes among its `count` inputs, the first of which are those of held()."""
    found = metadata() if facts.has(WEIGHTS, _WEIGHTS_OTHERWISE) else None
    changed = _changed(found) if found is not None else ()
    if changed and len(found.input_info) != count:  # AOTAutograd has made one of those that share memory.
        return frozenset(range(count))
    return frozenset(changed)


def _changed(found):
    return [
        place for place, info in enumerate(found.input_info) if info.mutates_data or info.mutates_metadata]
