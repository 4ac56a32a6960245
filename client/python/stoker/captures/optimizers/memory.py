"""Whether no tensor lies in another one's memory."""

import bisect

from ...pytorch.native.addresses import Addresses


class Memory:
    """`tensors`: of which others of the same sizes and strides are asked later; `staying`: numbers of those that are the same objects
    then, which seldom come to lie elsewhere."""

    def __init__(self, tensors, staying):
        with_elements = [place for place, tensor in enumerate(tensors) if tensor.numel()]
        self._staying = [place for place in with_elements if place in staying]
        self._moving = [place for place in with_elements if place not in staying]
        self._extents = {place: _extent_of(tensors[place]) for place in with_elements}
        self._lie = None  # Addresses of those that stay, with
        self._begins, self._ends = (), ()  # where they begin and end, in order.
        self._known = None  # Addresses of the others that were apart.

    def is_apart(self, tensors):
        if self._lie is None or not self._lie.are_of(tensors):
            self._lie, self._known = None, None
            ordered = self._in_order(tensors, self._staying)
            if not _are_apart(ordered):
                return False
            self._begins, self._ends = [begin for begin, _ in ordered], [end for _, end in ordered]
            self._lie = Addresses(list(tensors), self._staying)
        addresses = [tensors[place].data_ptr() for place in self._moving]
        if addresses != self._known:
            ordered = self._in_order(tensors, self._moving)
            if not _are_apart(ordered) or any([self._is_among_those_that_stay(*each) for each in ordered]):
                return False
            self._known = addresses
        return True

    def _in_order(self, tensors, places):
        return sorted([(begin, begin + self._extents[place]) for place in places for begin in (tensors[place].data_ptr(),)])

    def _is_among_those_that_stay(self, begin, end):
        place = bisect.bisect_right(self._begins, begin)
        return place > 0 and self._ends[place - 1] > begin or place < len(self._begins) and self._begins[place] < end


def _extent_of(tensor):
    """Bytes from its first element to behind its last one."""
    return (1 + sum([(size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())])) * tensor.element_size()


def _are_apart(ordered):
    return all([end <= after for (_, end), (after, _) in zip(ordered, ordered[1:])])
