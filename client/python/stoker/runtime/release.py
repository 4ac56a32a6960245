"""Weights go when their model does: an executable lets go of what it is bound to when nobody else holds the memory of one of
its parameters any more.

A thread looks, once a second, while anything is bound. No parameter is watched by a weak reference: PyTorch swaps no tensor
that has one (torch.utils.swap_tensors).
"""

import collections
import weakref

from ..base.background import Repeated
from ..base.living import Living
from ..base.locks import ProcessLock
from ..pytorch.tensors import uses_of

_bindings = Living()
_lock = ProcessLock()


class Binding:
    """What one executable is bound to: keeps the memory, and not the parameters."""

    def __init__(self, executable, laid_out, contents):
        """`contents`: a binding.Content of each parameter, which `laid_out` are made from."""
        self._executable = weakref.ref(executable)
        self.laid_out = laid_out
        self.contents = contents
        if contents:
            with _lock():
                _bindings.add(self)
            _watch.start()

    def forget(self):
        self.laid_out = None
        self.contents = ()

    def _release(self):
        executable = self._executable()
        if executable is not None:
            executable.release(self)


def release_ended():
    """Releases the bindings to memory that is theirs alone. False if there were none at all."""
    living = _living()
    contents = {id(content): content for binding in living for content in binding.contents}
    # A content's tensor holds its storage, and so does the storage's Python object, of which there is one.
    by_storage = collections.defaultdict(list)
    for content in contents.values():
        by_storage[id(content.storage)].append(content)
    ended = {
        id(content) for each in by_storage.values() if uses_of(each[0].storage) <= len(each) + 1 for content in each}
    for binding in living:
        if any(id(content) in ended for content in binding.contents):
            binding._release()
    return bool(living)


def _living():
    with _lock():
        return [binding for binding in _bindings if binding.contents]


_watch = Repeated("stoker-release", "packed weights stay in memory", release_ended, _living)
