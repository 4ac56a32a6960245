"""How a graph for training is run, in words, from the metadata of AOTAutograd and the graphs that it has parted."""

import torch

from ...base.not_portable import NotPortable
from ..sizes import SYMBOLIC
from ..unknown import require_defaults
from .words import PLAIN

_TANGENT = frozenset(("unwrapped_idx", "memory_format"))
_FORMAT = frozenset(("size", "stride", "memory_format"))


def training_words(found, forward, backward):
    """What training.py reads besides the words of the runtime. `found`: the metadata of `forward`, a graph module; `backward`:
    the one that computes its gradients."""
    _require_plain(found, backward)
    mutated = [found.input_info[index] for index in found.mutated_inp_runtime_indices]
    returned = len(mutated) + len(found.output_info) + found.num_intermediate_bases
    kinds = [meta.output_type.name for meta in found.output_info]
    checked, unchecked, numbers = _saved(found, forward, returned)
    return {
        "fixed": [place for place, meta in enumerate((*mutated, *found.output_info)) if not meta.requires_grad],
        "aliases": [len(mutated) + place for place, kind in enumerate(kinds) if kind not in PLAIN],
        "unsafe_views": [len(mutated) + place for place, kind in enumerate(kinds) if kind == "unsafe_view_alias"],
        "inputs_saved": checked,
        "inputs_saved_unchecked": unchecked,
        "numbers": numbers,
        "tangents": _tangents(found, len(mutated), returned, backward),
        "without_gradient": [place for place, result in enumerate(_results(backward)) if result is None],
        "deterministic": found.deterministic,
    }


def _require_plain(found, backward):
    """NotPortable where a graph for training does what no capture says."""
    if found.num_backward_tokens or found.indices_of_inputs_that_requires_grad_with_mutations_in_bw:
        raise NotPortable("a graph for training with effects of its backward pass")
    if any(type(meta).__name__ != "PlainTensorMeta" for meta in (
            *found.subclass_fw_graph_out_meta, *found.subclass_tangent_meta)):
        raise NotPortable("a graph for training with tensor subclasses")
    if found.mutated_graph_handled_indices:
        raise NotPortable("a graph for training that changes an input itself")
    if any(found.input_info[index].requires_grad for index in found.mutated_inp_runtime_indices):
        raise NotPortable("a graph for training that changes an input with a gradient")
    if len(_results(backward)) != len(found.input_info):
        raise NotPortable("a graph for training whose gradients are not its inputs'")


def _results(gm):
    return gm.graph.output_node().args[0]


def _saved(found, forward, returned):
    """(of each tensor that is saved and checked for changes: is it an input?, the same of those that are not checked, how many
    numbers are saved)"""
    saved = _results(forward)[returned:]
    if not all(isinstance(node, torch.fx.Node) for node in saved):
        raise NotPortable("a graph for training that saves a constant")
    are_numbers = [isinstance(node.meta.get("val"), SYMBOLIC) for node in saved]
    numbers = sum(are_numbers)
    tensors = saved[:len(saved) - numbers]
    if not all(are_numbers[len(tensors):]) or not all(isinstance(node.meta.get("val"), torch.Tensor) for node in tensors):
        raise NotPortable("a graph for training that saves what is no tensor")
    unchecked = len(tensors) - (getattr(found, "num_tensors_saved_with_no_vc_check", None) or 0)
    are_inputs = [node.op == "placeholder" for node in tensors]
    return are_inputs[:unchecked], are_inputs[unchecked:], numbers


def _tangents(found, mutated, returned, backward):
    """[place among what the forward gives, how its gradient is to lie] for each that the backward is given."""
    places = [
        mutated + place for place, meta in enumerate(found.output_info)
        if meta.output_type.name in PLAIN and issubclass(meta.raw_type, torch.Tensor)
        and getattr(meta, "requires_grad_for_backward", meta.requires_grad)]
    places += range(mutated + len(found.output_info), returned)
    if len(places) != len(found.subclass_tangent_meta):
        raise NotPortable("a graph for training whose gradients are not its results'")
    return [[place, _layout(meta)] for place, meta in zip(places, found.subclass_tangent_meta)]


def _layout(meta):
    require_defaults(meta, _TANGENT, "a gradient")
    wanted = meta.memory_format
    if wanted is None:
        raise NotPortable("a gradient that lies anyhow")
    require_defaults(wanted, _FORMAT, "a gradient")
    if wanted.memory_format is not None:
        return str(wanted.memory_format).removeprefix("torch.")
    if not all(type(number) is int for number in (*wanted.size, *wanted.stride)):
        raise NotPortable("a gradient that lies by symbols")
    return [list(wanted.size), list(wanted.stride)]
