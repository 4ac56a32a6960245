"""How a graph is run, in words, from the metadata of AOTAutograd."""

from ...base.not_portable import NotPortable
from ..unknown import require_defaults

PLAIN = ("non_alias", "unsafe_view_alias", "custom_function_view")
_DETACH, _AS_STRIDED = "detach_ViewMeta", "as_strided_ViewMeta"
OF_BASE = ("alias_of_intermediate", "alias_of_intermediate_save_as_output")
OF_INPUT = ("alias_of_input", "is_input")
_ALIASES = (*OF_BASE, *OF_INPUT, "alias_of_intermediate_base_is_user_output")
KINDS = ("plain", *_ALIASES)  # Of outputs, in words.

# Fields that runtime_words() and training_words() read, or that say nothing about how a graph is run.
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
    """What captures/install/around.py reads, from the metadata of a graph. `inputs`, `results`:
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
        if kind not in PLAIN and kind not in _ALIASES:
            raise NotPortable(f"an output of kind {kind}")
        if kind in PLAIN or kind == "is_input":
            outputs.append(["plain" if kind in PLAIN else kind, meta.base_idx, 0, False, ""])
            continue
        _require_no_place(meta)
        among = inputs if kind == "alias_of_input" else given[len(found.output_info):] if kind in OF_BASE else given
        if kind == "alias_of_input" and meta.base_idx in updated:
            # It is a view of what was computed, which must lie like the input then, from its own beginning on.
            if _strides(updated[meta.base_idx]) != _strides(inputs[meta.base_idx]):
                raise NotPortable("a view of an input that changes in place and lies otherwise")
            among = updated
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
