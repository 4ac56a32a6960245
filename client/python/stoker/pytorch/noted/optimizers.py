"""Which optimizers Dynamo takes apart while it traces a frame: it makes their first states, marks what they hold, and holds their
tensors in the graph."""

import torch


class Optimizers:
    """Noted while one frame is traced. Dynamo may begin anew, each time with another context."""

    def __init__(self):
        self._met = {}  # id -> (optimizer, source, context)

    def note(self, optimizer, source, context):
        self._met[id(optimizer)] = optimizer, source, context

    def of(self, output_graph):
        """[(optimizer, source)], in the order in which they were met."""
        return [
            (optimizer, source) for optimizer, source, context in self._met.values()
            if context is output_graph.tracing_context]


def attach(noted):
    """From now on. `noted`: gives the Optimizers of the frame that is being traced, or None."""
    from torch._dynamo.variables.optimizer import OptimizerVariable
    from torch._guards import TracingContext

    original_map = OptimizerVariable.map_sources_and_install_guards

    def map_sources_and_install_guards(self, tx):
        found = noted()
        original_map(self, tx)
        if found is not None:
            found.note(self.value, self.source, TracingContext.try_get())
            _guard_gradients_that_are_one(self)

    OptimizerVariable.map_sources_and_install_guards = map_sources_and_install_guards


def _guard_gradients_that_are_one(variable):
    """Dynamo takes one of them for all, and does not guard that they stay one."""
    from torch._dynamo.guards import install_guard, make_dupe_guard
    from torch._dynamo.source import GradSource

    first = {}
    for group in variable.value.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                source = GradSource(variable.tensor_to_source[parameter], "grad")
                other = first.setdefault(id(parameter.grad), source)
                # None of one source: a parameter may come twice.
                same = None if other is source else make_dupe_guard(source, other)
                if same is not None:
                    install_guard(source.make_guard(same))

_AROUND = "Optimizer.profile_hook_step.<locals>.wrapper"
_FOR_A_MOMENT = "_safe_to_set_capturable"  # There where it sets groups so only while it makes their states.


def is_around_a_step(code):
    """Is it what PyTorch wraps every step in, for profilers and hooks? Dynamo breaks there: the step is a frame of its own, which it
    traces whether it has traced this one or not."""
    return code.co_qualname == _AROUND and code.co_filename == torch.optim.Optimizer.profile_hook_step.__code__.co_filename


def keeps_capturable():
    """Does this PyTorch leave `capturable` set in groups on GPUs, once it has traced their optimizer?"""
    from torch._dynamo.variables.optimizer import OptimizerVariable

    return not hasattr(OptimizerVariable, _FOR_A_MOMENT)
