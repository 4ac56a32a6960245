"""Which optimizers Dynamo takes apart while it traces a frame: it makes their first states, marks what they hold, and holds their
tensors in the graph."""


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
        if found is not None:
            found.note(self.value, self.source, TracingContext.try_get())
        return original_map(self, tx)

    OptimizerVariable.map_sources_and_install_guards = map_sources_and_install_guards

_FOR_A_MOMENT = "_safe_to_set_capturable"  # There where it sets groups so only while it makes their states.


def keeps_capturable():
    """Does this PyTorch leave `capturable` set in groups on GPUs, once it has traced their optimizer?"""
    from torch._dynamo.variables.optimizer import OptimizerVariable

    return not hasattr(OptimizerVariable, _FOR_A_MOMENT)
