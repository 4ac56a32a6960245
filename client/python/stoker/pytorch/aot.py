"""AOTAutograd: from Dynamo's graph to functional ATen graphs, and what its runtime does around them."""

import functools

import torch

from ..base.not_portable import NotPortable
from ..base.signals import let_through
from . import attention_masks, dynamo_graph, facts, joint_graph
from .names import GRAPHS, WEIGHTS
from .operators import look_at_real_tensors
from .sizes import example_of
from .unknown import require_defaults


_WEIGHTS_OTHERWISE = "weights are handed over in every call"


def functional(gm, example_inputs, forward, backward, inference, change_joint):
    """A callable for Dynamo's `gm`. forward, backward and inference(graph module, inputs) give a boxed callable for
    each functional graph. change_joint(graph module, its Sides) may change that of forward and backward before it is parted."""
    dynamo_graph.made_ready(gm)
    with attention_masks.without_full_ones(gm, example_inputs):
        return _functional(gm, example_inputs, forward, backward, inference, change_joint)


def _functional(gm, example_inputs, forward, backward, inference, change_joint):
    if not facts.has(GRAPHS, "PyTorch's documented way to them, which loads Inductor, is taken"):
        from torch._dynamo.backends.common import aot_autograd

        return aot_autograd(
            fw_compiler=forward, bw_compiler=backward, inference_compiler=inference)(gm, example_inputs)
    from torch._dynamo.utils import flatten_graph_inputs
    from torch._functorch.aot_autograd import aot_module_simplified

    def trace(gm, inputs):
        traced = aot_module_simplified(
            gm, inputs, fw_compiler=forward, bw_compiler=backward, inference_compiler=inference,
            partition_fn=functools.partial(joint_graph.part, change_joint))
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
        if isinstance(value, torch.Tensor) and _overlaps(value):
            raise NotImplementedError(f"it changes an input with strides {tuple(value.stride())}, of which elements are one")


def _overlaps(tensor):
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


def inputs_to_tell_apart(count):
    """(places that the graph just compiled changes, places of what may lie in their memory) among the `count` inputs
    that it is called with; None where it changes nothing. What a module holds lies where it does in every call."""
    found = metadata() if facts.has(WEIGHTS, _WEIGHTS_OTHERWISE) else None
    changed = _changed(found) if found is not None else ()
    if not changed:
        return None
    if len(found.input_info) != count:  # AOTAutograd has made one of those that share memory.
        return frozenset(range(count)), range(count)
    held = set(found.static_input_indices).difference(changed)
    return frozenset(changed), [place for place in range(count) if place not in held]


def _changed(found):
    return [
        place for place, info in enumerate(found.input_info) if info.mutates_data or info.mutates_metadata]


# ---- the runtime around a graph ---------------------------------------------------------------------

_PLAIN = ("non_alias", "unsafe_view_alias", "custom_function_view")
_DETACH, _AS_STRIDED = "detach_ViewMeta", "as_strided_ViewMeta"
OF_BASE = ("alias_of_intermediate", "alias_of_intermediate_save_as_output")
_ALIASES = (*OF_BASE, "alias_of_input", "is_input", "alias_of_intermediate_base_is_user_output")

# Fields that runtime_words() reads, or that say nothing about how an inference graph is run.
_METADATA = frozenset((
    "input_info", "output_info", "num_intermediate_bases", "keep_input_mutations", "traced_tangents",
    "traced_tangents_descs", "subclass_inp_meta", "subclass_fw_graph_out_meta", "subclass_tangent_meta",
    "traced_tangent_metas", "is_train", "num_symints_saved_for_bw",
    "num_tensors_saved_with_no_vc_check", "num_opaque_objects_saved_for_bw",
    "saved_tensor_is_graph_input", "grad_enabled_mutation", "deterministic", "static_input_indices",
    "tokens", "indices_of_inputs_that_requires_grad_with_mutations_in_bw", "bw_donated_idxs",
    "num_backward_tokens", "num_graphsafe_rng_states", "graphsafe_rng_state_index",
    "graphsafe_rng_device", "compile_id_str", "tangent_source_stack_traces"))
_INPUT = frozenset((
    "is_leaf", "mutates_data", "mutates_metadata", "mutations_hidden_from_autograd",
    "mutations_under_no_grad_or_inference_mode", "mutation_inductor_storage_resize",
    "mutates_storage_metadata", "requires_grad", "keep_input_mutations"))
_OUTPUT = frozenset((
    "output_type", "raw_type", "base_idx", "dynamic_dims", "requires_grad", "requires_grad_for_backward",
    "view_meta_sequence"))


def runtime_words(found, inputs, results):
    """What captures/install/inference.py reads, from the metadata of an inference graph. `inputs`, `results`:
    the traced values of what the graph takes and gives."""
    require_defaults(found, _METADATA, "a graph")
    if found.tokens or found.num_graphsafe_rng_states:
        raise NotPortable("a graph with effects or random state")
    if any(type(meta).__name__ != "PlainTensorMeta" for meta in found.subclass_inp_meta):
        raise NotPortable("a graph with tensor subclasses")
    mutated = []
    for index in found.mutated_inp_runtime_indices:
        meta = found.input_info[index]
        require_defaults(meta, _INPUT, "a graph that changes an input")
        if meta.mutates_metadata or meta.mutates_storage_metadata:
            raise NotPortable("a graph that changes the shape of an input")
        mutated.append([index, bool(meta.mutates_data)])
    updated, given = dict(zip((index for index, _ in mutated), results)), results[len(mutated):]
    outputs = []
    for meta, value in zip(found.output_info, given):
        require_defaults(meta, _OUTPUT, "an output")
        kind = meta.output_type.name
        if kind not in _PLAIN and kind not in _ALIASES:
            raise NotPortable(f"an output of kind {kind}")
        if kind in _PLAIN or kind == "is_input":
            outputs.append(["plain" if kind in _PLAIN else kind, meta.base_idx, 0, False, ""])
            continue
        _require_no_place(meta)
        among = inputs if kind == "alias_of_input" else given[len(found.output_info):] if kind in OF_BASE else given
        if kind == "alias_of_input" and meta.base_idx in updated:
            # Its strides are those of a view of what was computed, which must lie like the input then.
            if _strides(updated[meta.base_idx]) != _strides(inputs[meta.base_idx]):
                raise NotPortable("a view of an input that changes in place and lies otherwise")
        outputs.append([
            kind, meta.base_idx, _distance(among[meta.base_idx], value), bool(meta.requires_grad), _detached(meta)])
    return {
        "inputs": len(inputs), "mutated": mutated, "outputs": outputs,
        "bases": found.num_intermediate_bases, "grad": found.grad_enabled_mutation}


def _detached(meta):
    """Where on the way from its base an output leaves autograd: it is a view of nothing that came before."""
    views = [type(view).__name__ for view in getattr(meta.view_meta_sequence, "sequence", ())]
    if _DETACH not in views:
        return ""
    return "last" if views[-1] == _DETACH else "before"


def _require_no_place(meta):
    """Where an output begins is told from where its base does. `as_strided` may say a place in the memory of both."""
    for view in getattr(meta.view_meta_sequence, "sequence", ()):
        if type(view).__name__ == _AS_STRIDED and (not hasattr(view, "as_tuple") or view.as_tuple()[-1] is not None):
            raise NotPortable("an output that begins at a place that as_strided says")


def _distance(base, alias):
    """How many elements behind the beginning of `base` a view of it begins."""
    if alias.dtype != base.dtype or alias.is_conj() != base.is_conj() or alias.is_neg() != base.is_neg():
        raise NotPortable("an output that is a tensor seen as another type")
    distance = alias.storage_offset() - base.storage_offset()
    if not isinstance(distance, int):
        raise NotPortable("an output that begins at a symbolic place of a tensor")
    return distance


def _strides(tensor):
    """As text: comparing symbols would make guards."""
    return str(tuple(tensor.stride()))


def as_inference(run, arguments):
    """run(arguments) without autograd and autocast, as AOTAutograd runs an inference graph: both are in it."""
    grad, autocast = torch.is_grad_enabled(), torch._C._is_any_autocast_enabled()
    if grad:
        torch._C._set_grad_enabled(False)
    try:
        if autocast:
            with torch._C._DisableAutocast():
                return run(arguments)
        return run(arguments)
    finally:
        if grad:
            torch._C._set_grad_enabled(True)


def set_grad_enabled(mode):
    torch._C._set_grad_enabled(mode)
