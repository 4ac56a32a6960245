"""Where results of recordings lie, and what else may lie there: a backward pass gives its gradients at the same places in every
call, each of them in what the forward pass had kept and nothing reads any more."""

import math
import threading
import weakref
from typing import NamedTuple

import torch

from ...pytorch.tensors import REFERENCES_OF_ONE, StorageHeld, is_held_only_by, uses_of

_ALIGNMENT = 512  # Of what lies within other memory, as PyTorch's allocator has it.
_LARGE = 1 << 20  # Bytes; smaller results are not looked at.


class Memory(StorageHeld):
    """A storage with results of a recording, at the same place in every call. Once a call has let go of what lies there, results
    of another recording may, until this one runs again: they are its guests."""

    _known = weakref.WeakValueDictionary()  # By address.

    def __init__(self, storage, own, numbers):
        """`own`: how many tensors of the recording lie there, those with these `numbers`."""
        super().__init__(storage)
        self.numbers = frozenset(numbers)
        self._address = storage.data_ptr()
        self._own = own + 1  # And the Python object.
        self._guests = []
        self._borrowers = weakref.WeakSet()
        if self._address:
            self._known.setdefault(self._address, self)

    @classmethod
    def of(cls, value):
        """That in which the value lies, if it is a tensor and in any."""
        return cls._known.get(value.untyped_storage().data_ptr()) if isinstance(value, torch.Tensor) else None

    def holders(self):
        """How many tensors that callers have lie there, and how often they hold the memory itself; without an end where one of them
        has moved it, as resize_() does."""
        if self.storage.data_ptr() != self._address:
            return math.inf
        return uses_of(self.storage) - self._own - len(self._guests) + self.references() - REFERENCES_OF_ONE

    def take_in(self, guests, borrower):
        self._guests += guests
        self._borrowers.add(borrower)

    def call_in(self, for_good):
        """Guests go, and come no more if it is `for_good`. Were there any?"""
        for borrower in list(self._borrowers):
            borrower.give_back(for_good)
        return bool(self._guests)


class Lender:
    """What `borrower`'s recording may put results in: memory of other recordings, where nobody holds what lies there but the list of
    arguments."""

    def __init__(self, arguments, borrower, shown=frozenset()):
        """`shown`: places of arguments whose memory others may show while it runs."""
        self._borrower = borrower
        places = {}
        argument = None
        for place, argument in enumerate(arguments):
            memory = Memory.of(argument)
            if memory is not None:
                places.setdefault(memory, []).append(place)
        del argument
        self._offered = {
            memory: places_of for memory, places_of in places.items()
            if shown.isdisjoint(places_of) and _are_alone(memory, arguments, places_of)}
        self._taken = {}  # As offered, and with what now lies there: it is not lent twice.

    def place(self, read, outputs):
        """{number of an output: a tensor for it}. `read`: (place among the arguments, the last step that reads it) of each that is let
        go of; `outputs`: {number: (dtype, shape, strides, the first step that names it)}."""
        last = {}
        for place, step in read:
            last[place] = max(step, last.get(place, -1))
        free = {
            memory: (memory.storage.nbytes(), max(last[place] for place in places))
            for memory, places in self._offered.items() if all(place in last for place in places)}
        sizes = {number: dtype.itemsize * math.prod(shape) for number, (dtype, shape, *_) in outputs.items()}
        firsts = {number: first for number, (*_, first) in outputs.items()}
        found = {}
        for number, (memory, offset) in places_within(free, sizes, firsts).items():
            dtype, shape, strides, _ = outputs[number]
            found[number] = torch.empty(0, dtype=dtype, device=memory.storage.device).set_(
                memory.storage, offset // dtype.itemsize, shape, strides)
            self._taken[memory] = self._offered[memory]
        for memory in self._taken:
            self._offered.pop(memory, None)
        return found

    def addresses(self):
        """Of the memory in which results were placed."""
        return {memory.storage.data_ptr() for memory in self._taken}

    def settle(self, results):
        """Loans of what lies in others' memory of `results`, {number: tensor}, which are taken out."""
        loans = []
        for memory, places in self._taken.items():
            address = memory.storage.data_ptr()
            there = [number for number, result in results.items() if result.untyped_storage().data_ptr() == address]
            guests = list({id(results[number]): results.pop(number) for number in there}.values())
            memory.take_in(guests, self._borrower)
            loans.append(Loan(weakref.ref(memory), places))
        return loans


class Loan(NamedTuple):
    memory: object  # A weak reference.
    places: list  # Of the arguments in it.

    def is_good(self, arguments):
        """May what lies there be overwritten once more?"""
        memory = self.memory()
        return memory is not None and _are_alone(memory, arguments, self.places)


def _are_alone(memory, arguments, places):
    """Do these arguments lie in it, and nothing else of callers, and does nobody else hold them?"""
    return memory.holders() == len(places) and all(
        Memory.of(arguments[place]) is memory and is_held_only_by(arguments, place) for place in places)


def places_within(free, sizes, firsts):
    """{number: (key, offset)} of those outputs that fit in memory which is read no more when they are made. `free`: {key: (bytes, the
    last step that reads it)}; `sizes`, `firsts`: by number, bytes of each output, and the first step that names it."""
    used = dict.fromkeys(free, 0)
    found = {}
    in_order = sorted(sizes, key=lambda number: (firsts[number], -sizes[number], number))
    for number in in_order:
        size, first = sizes[number], firsts[number]
        if size < _LARGE or first <= 0:
            continue
        fitting = [
            (room - used[key], place, key) for place, (key, (room, last)) in enumerate(free.items())
            if last < first and room - used[key] >= size]
        if fitting:
            *_, key = min(fitting)
            found[number] = key, used[key]
            used[key] += math.ceil(size / _ALIGNMENT) * _ALIGNMENT
    return found


class Ahead:
    """What results are written to is there before a recording begins, apart from the memory that all recordings work in: of these
    each overwrites what others leave there, in whatever order they run. `buffers`: {who makes results: {number: a tensor}}, some
    of them in memory of `lender`, if there is one."""

    _of_threads = threading.local()

    def __init__(self, buffers, lender=None):
        self._buffers, self._waiting = buffers, {}
        self.lent = frozenset() if lender is None else lender.addresses()
        self.addresses = set()
        for made in buffers.values():
            self.keep(made.values())

    @classmethod
    def of(cls, maker):
        """The maker's, once."""
        ahead = getattr(cls._of_threads, "ahead", None)
        return {} if ahead is None else ahead._waiting.pop(maker, {})

    def keep(self, tensors):
        """These are there before, too."""
        self.addresses.update(tensor.untyped_storage().data_ptr() for tensor in tensors)

    def __enter__(self):
        self._of_threads.ahead = self
        self._waiting = dict(self._buffers)

    def __exit__(self, *_):
        self._of_threads.ahead = None
