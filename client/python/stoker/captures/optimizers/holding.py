"""What is installed for optimizers, and goes with them: the callables of graphs that hold tensors."""

import weakref

MOST = 32  # Installations for one optimizer at a time: one for each set of states that take turns.

_of = weakref.WeakKeyDictionary()  # Optimizer -> its Installations.


def has_room(optimizers):
    """May there be one more for each of them? What is of no use any more, because states or parameters that it is of have died, as
    when others were loaded, goes first."""
    for optimizer in optimizers:
        known = _of.setdefault(optimizer, [])
        for each in [each for each in known if not each.is_of_use()]:
            each.drop()
            known.remove(each)
        if len(known) >= MOST:
            return False
    return True


class Installation:
    """`names`: its own, among `global_values`; `staying`: tensors that it is of no use without. It keeps neither them nor the
    optimizers alive."""

    def __init__(self, optimizers, staying, global_values, names):
        self._staying = [weakref.ref(tensor) for tensor in staying]
        self._globals, self._names = global_values, names
        self.when_dropped = None
        self._finalizers = [weakref.finalize(optimizer, self.drop) for optimizer in optimizers]
        for each in self._finalizers:
            each.atexit = False
        for optimizer in optimizers:
            _of.setdefault(optimizer, []).append(self)

    def is_of_use(self):
        """Not when it has been dropped, as by the death of another of its optimizers."""
        return all([each.alive for each in self._finalizers]) and all([tensor() is not None for tensor in self._staying])

    def drop(self):
        for each in self._finalizers:
            each.detach()
        for name in self._names:
            self._globals.pop(name, None)
        self._names = ()
        dropped, self.when_dropped = self.when_dropped, None
        if dropped is not None:
            dropped()


class HoldingGraph:
    """`run`: the graph with all its inputs, of which `tensors` are the first ones. It keeps none alive: guards ask whether they are
    there."""

    def __init__(self, run, tensors):
        self._run = run
        self._tensors = [weakref.ref(tensor) for tensor in tensors]

    def __call__(self, *inputs):
        held = [tensor() for tensor in self._tensors]
        if any([tensor is None for tensor in held]):
            raise ReferenceError("A tensor that a graph holds has died.")
        return self._run(*held, *inputs)
