"""What AOTAutograd's runtime does with what a graph gives: inputs that change in place, outputs that share memory."""

import operator

import torch

from ...base.checked import as_many, count_of, flag_of, one_of, place_of
from ...pytorch.aot_runtime import modes
from ...pytorch.aot_runtime.words import KINDS, OF_BASE, OF_INPUT
from ...runtime import programs
from ...runtime.laid_out import taker
from ..words.graphs import decode_eager


def _output_of(kind, base, distance, requires_grad, detached, inputs, outputs, bases):
    """As in runtime_words, checked."""
    one_of(kind, KINDS)
    if kind != "plain":
        place_of(base, inputs if kind in OF_INPUT else bases if kind in OF_BASE else outputs)
    if type(distance) is not int:
        raise ValueError(f"a distance is {distance!r}")
    return kind, base, distance, flag_of(requires_grad), one_of(detached, ("", "before", "last"))


class Around:

    def __init__(self, words, device):
        """`words`: of runtime_words, with views_of. ValueError where they are damaged."""
        inputs, bases = count_of(words["inputs"]), count_of(words["bases"])
        self._mutated = [(place_of(index, inputs), flag_of(copied)) for index, copied in words["mutated"]]
        self._targets = taker([index for index, _ in self._mutated])
        self._all_copied = bool(self._mutated) and all(copied for _, copied in self._mutated)
        self._outputs = [_output_of(*each, inputs, len(words["outputs"]), bases) for each in words["outputs"]]
        self._views = [
            None if text is None else programs.run_of(decode_eager(text, device), ())
            for text in as_many(words["views"], len(self._outputs))]
        self._is_plain = not self._mutated and all(kind == "plain" for kind, *_ in self._outputs)
        self.count = len(self._mutated) + len(self._outputs) + bases  # Of what the graph shows.
        self._grad = one_of(words["grad"], (None, False, True))

    def finished(self, inputs, results):
        """What the graph is to give of its `results`."""
        if not self._is_plain:
            results = self._restored(inputs, results)
        if self._grad is not None:
            modes.set_grad_enabled(self._grad)
        return results

    def _restored(self, inputs, results):
        if len(results) != self.count:
            raise AssertionError(f"{len(results)} results where {self.count} are expected")
        self._update(inputs, results)
        results = results[len(self._mutated):]
        return [
            self._output(*how, views, value, inputs, results)
            for how, views, value in zip(self._outputs, self._views, results)]

    def _update(self, inputs, results):
        """The inputs that change in place. Of those that hold their results already that alone is noted."""
        targets = self._targets(inputs)
        if self._all_copied and all(map(operator.is_, targets, results)):
            if torch.is_inference_mode_enabled():
                targets = [target for target in targets if not target.is_inference()]
            torch.autograd.graph.increment_version(targets)
            return
        for (_, copied), target, updated in zip(self._mutated, targets, results):
            if copied:
                (target.detach() if target.requires_grad else target).copy_(updated)

    def _output(self, kind, base, distance, requires_grad, detached, views, value, inputs, results):
        if kind == "plain":
            return value
        if kind == "is_input":
            return inputs[base]
        if kind == "alias_of_input":
            source = inputs[base]
        elif kind in OF_BASE:
            source = results[len(self._outputs) + base]
        else:
            source = results[base]
        if detached == "before":
            source = source.detach()
        if views is None:
            alias = source.as_strided(value.size(), value.stride(), source.storage_offset() + distance)
        else:
            alias, = views([source])
        if detached == "last" or source.requires_grad and not requires_grad:
            return alias.detach()
        return alias.requires_grad_() if requires_grad and not source.requires_grad else alias
