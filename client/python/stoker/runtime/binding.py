"""Which parameters an executable is bound to, and whether they are still the same.

A parameter counts as changed when its data moved (`p.data = x`), when its version did (every in-place
operation), or when a sampled word of it does: writes through `.data` or a shared NumPy array change neither
address nor version. The sample is 16 words spread over every parameter, so it sees any update of a whole
tensor; of 64 KiB it is all. One that touches a few elements of a large one is found by libstoker, which compares all
of what it packed in one two-hundredth of a processor's time in the calls. Tensors made in inference mode have no version,
whoever writes to them: all that they hold is looked at in every call.
"""

import ctypes
import itertools

import torch

from ..base.living import Living
from ..base.locks import ProcessLock
from ..graph.layout import bytes_of
from ..libstoker import library
from ..pytorch.native.addresses import Addresses
from ..pytorch.tensors import version_of
from .laid_out import require_memory

_pointer = torch.Tensor.data_ptr


def _version_if_any(parameter):
    return 0 if parameter.is_inference() else version_of(parameter)


class Content:
    """What one parameter holds, until it changes. Keeps the memory alive, so that no address is reused."""

    __slots__ = ("memory", "storage", "version", "sample", "number", "__weakref__")

    def __init__(self, memory, version, sample, number):
        self.memory = memory
        self.storage = memory.untyped_storage()
        self.version = version
        self.sample = sample
        self.number = number


_lock = ProcessLock()
_numbers = itertools.count(1)
# What any living Stamp has seen, by where it lies.
_contents = Living()


def _content_of(parameter, version):
    """The same Content for as long as the parameter does not change, whoever asks."""
    require_memory(parameter)
    memory = parameter.detach()
    place = (memory.data_ptr(), memory.dtype, memory.shape, memory.stride())
    sample = _sampler([memory], parameter.is_inference())()
    with _lock():
        known = _contents.get(place)
        if known is None or (known.version, known.sample) != (version, sample):
            known = Content(memory, version, sample, next(_numbers))
            _contents.add(known, place)
    return known


class Stamp:
    """What a set of parameters looked like. `numbers` names the content of each: another number, another
    content, in the whole process."""

    def __init__(self, parameters):
        inference = any(parameter.is_inference() for parameter in parameters)
        parameters = list(parameters)
        self._addresses = Addresses(parameters, range(len(parameters)), with_versions=not inference)
        self._count = len(parameters)
        self.contents = list(map(_content_of, parameters, map(_version_if_any, parameters)))
        self.numbers = [content.number for content in self.contents]
        self._sampler = _sampler([content.memory for content in self.contents], inference)
        self.sample = self._sampler()

    @property
    def memory(self):
        """Each parameter's memory as a tensor of its own, which keeps no parameter alive."""
        return [content.memory for content in self.contents]

    def fits(self, parameters):
        """Microseconds for a hundred parameters: this runs in every call. Where some have no versions, all that they hold is
        looked at."""
        parameters = list(parameters)
        return len(parameters) == self._count and self._addresses.are_of(parameters) and self._sampler() == self.sample


def _sampler(tensors, whole):
    """A function that gives a number, another one when the content of the tensors is another: all of it, or enough of it."""
    count = len(tensors)
    data = (ctypes.c_void_p * count)(*map(_pointer, tensors))
    sizes = (ctypes.c_size_t * count)(*map(bytes_of, tensors))
    sample = library.load().stoker_hash if whole else library.load().stoker_sample
    return lambda: sample(data, sizes, count)
