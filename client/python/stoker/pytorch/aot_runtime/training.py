"""A graph for training among autograd's functions: what AOTAutograd's runtime does at a forward and at a backward pass."""

import contextlib
import sys

import torch

from ...base.checked import all_of, as_many, count_of, flag_of, one_of, place_of
from .modes import as_inference

_NO_SECOND = "torch.compile with aot_autograd does not currently support double backward"
_IN_TRANSFORM = (
    "It looks like you're trying to call a compiled backward function within vmap/grad/vjp, which isn't supported. Try "
    "wrapping vmap inside torch.compile, or skip compiling the backward function.")
_NOT_DETERMINISTIC = (
    "This compiled backward function is being run with torch.use_deterministic_algorithms(True), but it was previously "
    "generated during the forward function while torch.use_deterministic_algorithms(False) was set.")


class Alias:
    """A result that shares memory with something: autograd's function is not to take it for one of its tensors."""

    def __init__(self, tensor):
        self.tensor = tensor


class TrainingStep:
    """`forward`, `backward`: functions of a list, which they may empty; `words`: of training_words; `inputs`: how many the forward
    has; `returned`: how many of its results are shown, before what is saved; `wrap`: what the function that autograd calls is
    passed through, or None. ValueError where words are damaged."""

    def __init__(self, forward, backward, words, inputs, returned, wrap):
        self._forward, self._backward, self._returned = forward, backward, returned
        self._fixed, self._aliases, self._unsafe_views = (
            all_of(place_of, words[name], returned) for name in ("fixed", "aliases", "unsafe_views"))
        self._checked = all_of(flag_of, words["inputs_saved"])
        self._unchecked = all_of(flag_of, words["inputs_saved_unchecked"])
        self._numbers = count_of(words["numbers"])
        self._tangents = [(place_of(place, returned), _layout(how)) for place, how in words["tangents"]]
        self._without_gradient = all_of(place_of, words["without_gradient"], inputs)
        self._deterministic = one_of(words["deterministic"], (None, False, True))
        self._function = CompiledFunction if wrap is None else type(CompiledFunction)(
            "CompiledFunction", (CompiledFunction,), {"backward": staticmethod(wrap(CompiledFunction.backward))})

    @property
    def results(self):
        """How many the forward has."""
        return self._returned + len(self._checked) + len(self._unchecked) + self._numbers

    @property
    def backward_inputs(self):
        return self.results - self._returned + len(self._tangents)

    def __call__(self, inputs):
        """What the forward shows, as results of an autograd function; Aliases where they are none of its tensors."""
        given = list(inputs)
        for place in self._without_gradient:
            given[place] = _cut_off(given[place])
        with _views_replayed(), torch.enable_grad():
            return list(self._function.apply(self, *given))

    def forward(self, context, inputs):
        results = list(as_inference(self._forward, list(inputs)))
        shown, saved = results[:self._returned], results[self._returned:]
        if len(results) != self.results:
            raise AssertionError(f"{len(results)} results where {self.results} are expected")
        self._save(context, saved)
        for place in self._unsafe_views:
            shown[place] = torch.ops.aten._unsafe_view(shown[place], shown[place].shape)
        for place in self._aliases:
            shown[place] = Alias(shown[place])
        context.mark_non_differentiable(
            *(shown[place] for place in self._fixed if isinstance(shown[place], torch.Tensor)))
        context._materialize_non_diff_grads = False
        return tuple(shown)

    def _save(self, context, saved):
        """A view is saved without its way to autograd, which would lead in a circle."""
        tensors = [
            tensor if is_input or not tensor._is_view() else tensor.detach()
            for tensor, is_input in zip(saved, (*self._checked, *self._unchecked))]
        context.save_for_backward(*tensors[:len(self._checked)])
        context.unchecked = tensors[len(self._checked):]
        context.numbers = saved[len(tensors):]

    def backward(self, context, gradients):
        """`gradients`: of all that is shown; a list is emptied."""
        if torch._C._functorch.maybe_current_level() is not None:
            raise RuntimeError(_IN_TRANSFORM)
        if self._deterministic is False and torch.are_deterministic_algorithms_enabled():
            raise RuntimeError(_NOT_DETERMINISTIC)
        arguments = [*context.numbers, *context.saved_tensors, *context.unchecked, *(
            _laid_out(gradients[place], how) for place, how in self._tangents)]
        if isinstance(gradients, list):
            gradients.clear()

        def run():
            context.maybe_clear_saved_tensors()
            return tuple(as_inference(self._backward, arguments))

        if torch.is_grad_enabled():
            connection = torch.empty(0, requires_grad=True)
            return _Once.apply(run, connection, *arguments)
        return run()


class _Boxing(type(torch.autograd.Function)):

    @property
    def boxed_grads_call(cls):
        """Do gradients come in one list, so that each may go before the pass is over? PyTorch asks since 2.15, and its compiler of
        backward passes refuses a function that says so."""
        compiler = sys.modules.get("torch._dynamo.compiled_autograd")
        return not getattr(compiler, "compiled_autograd_enabled", False)


class CompiledFunction(torch.autograd.Function, metaclass=_Boxing):
    """Called as AOTAutograd's is: what it gives says so (`grad_fn`)."""

    @staticmethod
    def forward(context, step, *inputs):
        context.step = step
        return step.forward(context, inputs)

    @staticmethod
    def backward(context, *gradients):
        if len(gradients) == 1 and isinstance(gradients[0], list):
            gradients, = gradients
        return None, *context.step.backward(context, gradients)


class _Once(torch.autograd.Function):
    """Gradients that have a way to autograd, which says that there is none."""

    @staticmethod
    def forward(context, run, *arguments):
        return run()

    @staticmethod
    def backward(context, *gradients):
        raise RuntimeError(_NO_SECOND)


def _cut_off(value):
    """Autograd is not to go on to what it came from: its gradient is none."""
    if isinstance(value, torch.Tensor) and value.requires_grad and not value.is_leaf:
        return value.detach()
    return value


@contextlib.contextmanager
def _views_replayed():
    before = torch._C._is_view_replay_enabled()
    torch._C._set_view_replay_enabled(True)
    try:
        yield
    finally:
        torch._C._set_view_replay_enabled(before)


def _layout(words):
    """A memory format, or (size, stride)."""
    if isinstance(words, str):
        found = getattr(torch, words, None)
        if not isinstance(found, torch.memory_format):
            raise ValueError(f"a memory format {words}")
        return found
    size, stride = words
    return tuple(all_of(count_of, size)), tuple(all_of(count_of, as_many(stride, len(size))))


def _laid_out(gradient, how):
    if not isinstance(gradient, torch.Tensor):
        return gradient
    if type(gradient) not in (torch.Tensor, torch.nn.Parameter):
        raise RuntimeError(
            f"During the backward, a gradient is a {type(gradient).__name__}, where a compiled function was traced with "
            "plain tensors.")
    if isinstance(how, torch.memory_format):
        return gradient.contiguous(memory_format=how)
    size, stride = how
    if gradient.shape == size and gradient.stride() == stride:
        return gradient
    with torch.no_grad():
        return torch.empty_strided(size, stride, dtype=gradient.dtype, device=gradient.device).copy_(gradient)
