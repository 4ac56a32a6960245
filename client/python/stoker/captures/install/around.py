"""What AOTAutograd's runtime does with what a graph gives: inputs that change in place, outputs that share memory."""

from ...pytorch.aot_runtime import modes
from ...pytorch.aot_runtime.words import OF_BASE
from ...runtime import programs
from ..words.graphs import decode_eager


class Around:

    def __init__(self, words, device):
        """`words`: of runtime_words, with views_of."""
        self._mutated = [(int(index), bool(copied)) for index, copied in words["mutated"]]
        self._outputs = [
            (str(kind), base, int(distance), bool(requires_grad), str(detached))
            for kind, base, distance, requires_grad, detached in words["outputs"]]
        self._views = [text and programs.run_of(decode_eager(text, device), ()) for text in words["views"]]
        self._is_plain = not self._mutated and all(kind == "plain" for kind, *_ in self._outputs)
        self.count = len(self._mutated) + len(self._outputs) + int(words["bases"])  # Of what the graph shows.
        self._grad = words["grad"]

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
        for (index, copied), updated in zip(self._mutated, results):
            if copied:
                target = inputs[index]
                (target.detach() if target.requires_grad else target).copy_(updated)
        results = results[len(self._mutated):]
        return [
            self._output(*how, views, value, inputs, results)
            for how, views, value in zip(self._outputs, self._views, results)]

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
