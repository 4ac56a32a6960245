"""Weights go when their model does: an executable lets go of what it is bound to when nobody else holds the memory of one of
its parameters any more.

A thread looks, once a second, while anything is bound. No parameter is watched by a weak reference: PyTorch swaps no tensor
that has one (torch.utils.swap_tensors).
"""

import atexit
import collections
import os
import threading
import weakref

from ..base import background
from ..base.living import Living
from ..base.locks import ProcessLock
from ..pytorch.tensors import uses_of

INTERVAL_S = 1.0
_thread_of = {}  # Process id -> the thread: a forked process starts its own.
_bindings = Living()
_lock = ProcessLock()
_end = threading.Event()  # The interpreter ends, and with it all weights.
_EXIT_S = 10  # How long its end waits for a release under way.

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
                _start_thread()

    def forget(self):
        self.laid_out = None
        self.contents = ()

    def _release(self):
        executable = self._executable()
        if executable is not None:
            executable.release(self)


def release_ended():
    """Releases the bindings to memory that is theirs alone. False if there were none at all."""
    with _lock():
        living = [binding for binding in _bindings if binding.contents]
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


def _start_thread():
    pid = os.getpid()
    if pid not in _thread_of:
        _thread_of.clear()
        _thread_of[pid] = background.start("stoker-release", "packed weights stay in memory", _release_all)


def _release_all():
    while not _end.wait(INTERVAL_S):
        if not release_ended():
            with _lock():
                if not any(binding.contents for binding in _bindings):
                    del _thread_of[os.getpid()]
                    return


def _renew():
    global _end
    _end = threading.Event()


os.register_at_fork(after_in_child=_renew)


@atexit.register
def _stop():
    """A thread that lets go of a tensor while the interpreter is taken down ends the process: PyTorch's C++ waits for the
    interpreter's lock then, and nobody may leave that wait but by the end of the thread."""
    _end.set()
    thread = _thread_of.get(os.getpid())
    if thread is not None:
        thread.join(_EXIT_S)
