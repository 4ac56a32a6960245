"""Where tensors lie in memory: what moves one (`p.data = x`) tells nobody, so that all are asked in every call."""

import torch

from ...libstoker.extension import extension
from ..tensors import version_of
from .tensor_layout import learn_tensors


class Addresses:
    """`places`: of tensors in the list `values`, which are of the same sizes in every list. Those without elements lie
    anywhere. `with_versions`: whether they have changed in place is asked, too, of tensors that count that."""

    def __init__(self, values, places, with_versions=False):
        self._places = [place for place in places if values[place].numel()]
        self._versions = [version_of(values[place]) for place in self._places] if with_versions else None
        self._addresses = [0] * len(values)
        for place in self._places:
            self._addresses[place] = values[place].data_ptr()
        self._known = None
        if extension() is not None and learn_tensors():
            self._known = extension().addresses_of(values, self._places, torch.Tensor, with_versions)

    def are_of(self, values):
        """Do the tensors at these places of another list lie there, too, and are of those versions?"""
        if self._known is None:
            return _lie_at(values, self._addresses, self._places) and (
                self._versions is None or self._versions == [_version_of(values[place]) for place in self._places])
        return extension().lie_at(self._known, values)


def _version_of(tensor):
    """None of what was made in inference mode."""
    return None if tensor.is_inference() else version_of(tensor)


def _lie_at_one_by_one(values, addresses, places):
    return all(values[place].data_ptr() == addresses[place] for place in places)


# f(values, addresses, places) -> bool: do the tensors at these places of the list lie at the addresses at the same places?
_lie_at = getattr(torch._C, "_tensors_data_ptrs_at_indices_equal", _lie_at_one_by_one)
