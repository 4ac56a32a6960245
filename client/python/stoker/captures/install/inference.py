"""A graph's callable in a new process: its artifacts, and what AOTAutograd's runtime does around them (inputs that
change in place, outputs that share memory).
"""

from ...pytorch import aot
from ...runtime import programs
from ..words.graphs import decode_eager


class InferenceGraph:
    """The callable in place of Dynamo's __compiled_fn: a graph's flat inputs to its outputs."""

    def __init__(self, run, words):
        """`words`: of aot.runtime_words."""
        self._run = run
        self._mutated = [(int(index), bool(copied)) for index, copied in words["mutated"]]
        self._outputs = [
            (str(kind), base, int(distance), bool(requires_grad), str(detached))
            for kind, base, distance, requires_grad, detached in words["outputs"]]
        self._is_plain = not self._mutated and all(kind == "plain" for kind, *_ in self._outputs)
        self._count = len(self._mutated) + len(self._outputs) + int(words["bases"])
        self._grad = words["grad"]

    def __call__(self, *inputs):
        results = aot.as_inference(self._run, list(inputs))
        if not self._is_plain:
            results = self._restore(inputs, results)
        if self._grad is not None:
            aot.set_grad_enabled(self._grad)
        return results

    def _restore(self, inputs, results):
        if len(results) != self._count:
            raise AssertionError(f"{len(results)} results where {self._count} are expected")
        for (index, copied), updated in zip(self._mutated, results):
            if copied:
                target = inputs[index]
                (target.detach() if target.requires_grad else target).copy_(updated)
        results = results[len(self._mutated):]
        return [
            self._output(*how, value, inputs, results)
            for how, value in zip(self._outputs, results)]

    def _output(self, kind, base, distance, requires_grad, detached, value, inputs, results):
        if kind == "plain":
            return value
        if kind == "is_input":
            return inputs[base]
        if kind == "alias_of_input":
            source = inputs[base]
        elif kind in aot.OF_BASE:
            source = results[len(self._outputs) + base]
        else:
            source = results[base]
        if detached == "before":
            source = source.detach()
        alias = source.as_strided(value.size(), value.stride(), source.storage_offset() + distance)
        if detached == "last" or source.requires_grad and not requires_grad:
            return alias.detach()
        return alias.requires_grad_() if requires_grad and not source.requires_grad else alias


def make_callable(words, run, device, failed):
    """A function of the flat inputs. `run`: a function of the list of them. When an artifact fails in it,
    failed(error) is called, and the graph runs in eager from then on: the frame that called it is half
    done, so it can be neither left nor traced again."""

    def eager():
        return programs.run_of(decode_eager(words["eager"], device), ())

    def in_eager(error):
        failed(error)
        return eager()

    run_or_eager = programs.rescued(
        run, in_eager, lambda arguments: eager()(arguments), has_sizes=bool(words.get("symbolic")))
    return InferenceGraph(run_or_eager, words["runtime"])
