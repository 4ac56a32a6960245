"""What Dynamo reads without a guard, for it trusts that it stays while a process lives: the globals of Python's standard
library, and what is reached from there; objects of `inspect`; and what it takes for unlikely to change."""

import sys

from ..base.signals import let_through


class Unguarded:
    """Noted while one frame is traced. Dynamo may begin anew, each time with another context."""

    def __init__(self):
        self._skipped = {}  # Guard that is made and left out -> the context.
        self._read = {}  # Source of an object that is taken apart -> the context.
        self._whole = {}  # Source of a dictionary whose keys are taken -> the context.

    def note_guards(self, guards):
        """Of guards that are left out."""
        context = _context()
        self._skipped.update((guard, context) for guard in guards)

    def note_read(self, source):
        self._read[source] = _context()

    def note_keys(self, source):
        self._whole[source] = _context()

    def whole(self, output_graph):
        """Sources of dictionaries."""
        return [source for source, context in self._whole.items() if context is output_graph.tracing_context]

    def skipped(self, output_graph):
        """Guards."""
        return [guard for guard, context in self._skipped.items() if context is output_graph.tracing_context]

    def sources(self, output_graph, guards):
        """Of objects that none of these guards tells anything of, and that were read."""
        from .sources import all_of

        guarded = {
            each for source in (*(guard.originating_source for guard in guards), *output_graph.guard_on_key_order)
            for each in all_of(source)}
        return [
            source for source, context in self._read.items()
            if context is output_graph.tracing_context and source not in guarded]


def _context():
    from torch._guards import TracingContext

    return TracingContext.try_get()


class _Items:
    """What Dynamo knows to be in a dictionary, as an attribute of the one that stands for it. Its methods guard what they
    read there; who comes from elsewhere (a set is made of the keys, a list extended by them) guards nothing."""

    def __init__(self, noted, module):
        self._noted, self._own_globals = noted, vars(module)

    def __get__(self, tracker, owner=None):
        if tracker is None:
            return self
        if sys._getframe(1).f_globals is not self._own_globals and tracker.source is not None:
            notes = self._noted()
            if notes is not None:
                notes.note_keys(tracker.source)
        try:
            return vars(tracker)["items"]
        except KeyError as error:
            let_through(error)
            raise AttributeError("items") from None

    def __set__(self, tracker, items):
        vars(tracker)["items"] = items


def attach(noted):
    """From now on. `noted`: gives the Unguarded of the frame that is being traced, or None."""
    from torch._dynamo import guards
    from torch._dynamo.variables import dicts
    from torch._dynamo.variables.builder import VariableBuilder

    from .sources import is_left_out

    original_install, original_wrap = guards.install_guard, VariableBuilder._wrap

    def install_guard(*made, skip=0):
        notes = noted()
        if notes is not None:
            notes.note_guards([guard for guard in made if is_left_out(guard.originating_source)])
        return original_install(*made, skip=skip + 1)

    def wrap(self, value):
        notes = noted()
        if notes is not None:
            notes.note_read(self.source)
        return original_wrap(self, value)

    VariableBuilder._wrap = wrap
    dicts.ConstDictVariable.items = _Items(noted, dicts)
    for name, module in list(sys.modules.items()):  # Versions differ in who has imported it.
        # Who forbids the import of a module puts None there.
        if name.startswith("torch.") and getattr(module, "__dict__", {}).get("install_guard") is original_install:
            module.install_guard = install_guard
