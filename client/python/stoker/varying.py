"""What runs a graph with symbolic sizes, or a part of one: what was compiled for all sizes, or for one set of them."""

import torch

from .base import tally
from .base.log import warn_once
from .captures.install import sized
from .captures.record import recording
from .lowering import compiling, symbols
from .pytorch.sizes import is_of_nested
from .runtime import programs, sizes


def function_of(gm, parameters, options, words, is_part=False):
    """A boxed function. `words`: the graph's record, or None. `is_part`: has it been cut out of a graph because it needs
    numbers?"""

    def note(inputs):
        # The graph's record, beside which the program is stored.
        return lambda program, made: words and sized.store_version(words, inputs, program, made)

    def compile_version(arguments):
        return compiling.compile_for_sizes(gm, arguments, parameters, options, note(sized.inputs_of(arguments)))

    def make_part(part, its_parameters):
        its_options = options._replace(replays=False)  # Of the graph around it alone.
        its_words = words and recording.words_of_part(part, *_what_varies(part), its_parameters, its_options)
        return its_words, function_of(part, its_parameters, its_options, its_words, is_part=True)

    def in_eager():
        warn_once(
            ("counts", id(gm)), "a graph runs in eager but for %d sets of sizes: only a run knows them, and it is compiled for "
            "each.", sizes.MAX_VERSIONS_OF_A_RUN)
        tally.count("graphs_eager")
        return programs.eager(gm)

    if any(is_of_nested(node.meta.get("val")) for node in gm.graph.find_nodes(op="placeholder")):
        warn_once("nested", "a graph runs in eager: it is given a nested tensor, of which a size stands for several.")
        tally.count("graphs_eager")
        return programs.eager(gm)
    if words is None and is_part and not _computes_tensors(gm):
        return programs.eager(gm)  # It asserts something of sizes, and a later process finds nothing of it.
    versions = sizes.by_sizes(
        sizes.symbolic_inputs(gm), compile_version, in_eager if sizes.are_of_a_run(gm) else None)
    sources, _ = symbols.inputs_of(gm)
    if not sources:
        return versions
    compile_for_all = compiling.ForAllSizes(
        gm, parameters, options, lambda arguments: note(words and sized.varying_inputs_of(words, arguments)),
        None if is_part else make_part)
    return sizes.for_all_sizes(
        sources, compile_for_all, versions, sizes.MAX_PROGRAMS_OF_PART if is_part else sizes.MAX_PROGRAMS)


def _computes_tensors(gm):
    return any(isinstance(node.meta.get("val"), torch.Tensor) for node in gm.graph.nodes)


def of_graph(gm, parameters, options, training):
    """The function of a graph that is being recorded. `training`: of training_of."""
    words = recording.note_sized(gm, *_what_varies(gm), parameters, options, training)
    return function_of(gm, parameters, options, words)


def training_of(backward, options):
    """What recording is told of a forward graph. `backward`: the graph module of its gradients, or None."""
    return recording.Training(None) if backward is None else recording.Training(backward, *_what_varies(backward), options)


def note_beside(words):
    """A note as of compile_graph: what was compiled is stored beside the record of its graph. `words`: that record, or None."""
    return lambda program, made: words and sized.store_version(words, words["inputs"], program, made)


def _what_varies(gm):
    return sizes.symbolic_inputs(gm), *symbols.inputs_of(gm)
