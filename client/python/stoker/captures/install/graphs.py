"""A graph's callable in a new process, in place of Dynamo's __compiled_fn: its artifacts, and what AOTAutograd's runtime does
around them.
"""

from ...base.checked import as_many, count_of
from ...pytorch.aot_runtime.modes import as_inference
from ...pytorch.aot_runtime.training import Alias, TrainingStep
from ...pytorch.state import in_forward_mode, makes_fakes
from ...runtime import programs
from ..words.graphs import decode_eager
from .around import Around


class InferenceGraph:
    """A graph's flat inputs to its outputs."""

    def __init__(self, run, words, device, held=()):
        """`run`: a function of the list of inputs; `words`: of runtime_words, with views_of; `held`: the first inputs, which no call
        brings."""
        self._run = run
        self._around = Around(words, device)
        self._held = held

    def __call__(self, *inputs):
        inputs = (*self._held, *inputs)
        return self._around.finished(inputs, as_inference(self._run, list(inputs)))


class TrainingGraph:
    """The same, with a way back to gradients."""

    def __init__(self, run, run_backward, words, device, wrap):
        """`words`: as above, with those of training_words; `wrap`: of TrainingStep."""
        self._around = Around(words, device)
        self.step = TrainingStep(run, run_backward, words["training"], count_of(words["inputs"]), self._around.count, wrap)

    def __call__(self, *inputs):
        results = self.step(inputs)
        return self._around.finished(inputs, [
            result.tensor if isinstance(result, Alias) else result for result in results])


def make_callable(words, run, run_backward, device, failed, wrap):
    """A function of the flat inputs. `run`: a function of the list of them; `run_backward`: of what a backward pass is given, or
    None; `wrap`: what is passed through Dynamo's hands may have to be, or None. When an artifact fails in one of them,
    failed(error) is called, and the graph runs in eager from then on: the frame that called it is half done, so it can be
    neither left nor traced again."""
    forward = _or_eager(words, run, device, failed, is_backward=False)
    if run_backward is None:
        return InferenceGraph(forward, words["runtime"], device)
    backward = _or_eager(words["backward"], run_backward, device, failed, is_backward=True)
    graph = TrainingGraph(forward, backward, words["runtime"], device, wrap)
    if "program" in words:
        as_many(words["program"]["outputs"], graph.step.results)
    if words["backward"]["runtime"]["inputs"] != graph.step.backward_inputs:
        raise ValueError(f"a backward graph is given {graph.step.backward_inputs}")
    return graph


def _or_eager(words, run, device, failed, is_backward):

    def eager():
        return programs.run_of(decode_eager(words["eager"], device), ())

    def in_eager(error):
        failed(error)
        return eager()

    def once(arguments):
        return eager()(arguments)

    run_or_eager = programs.rescued(
        run, in_eager, once, without_memory=once if is_backward else None, has_sizes=bool(words.get("symbolic")))

    def run_here(arguments):
        # No guard knows of a mode whose tensors have no memory; of tangents one does, but it was asked at the forward pass.
        if in_forward_mode() or makes_fakes():
            return once(arguments)
        return run_or_eager(arguments)

    return run_here
