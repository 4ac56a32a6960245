"""What kernels and eager operators are specialized to, of a tensor, and what code may ask of one."""

import math
import operator
import sys
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor

NUMBER_OF_HOOKS = torch.utils.hooks.RemovableHandle  # Its next_id rises with each hook of any module.
as_tensor_in_full_precision = torch._as_tensor_fullprec  # Guards over sizes call it.
dispatch_keys = torch._C._dispatch_keys
version_of = operator.attrgetter("_version")  # Another one after each operation in place.
NAMES_OF_BASES = ("_base", "_is_view")


# f(sizes, strides, dtype): a tensor on the CPU, of what its memory held. As Inductor's code makes its results.
empty_on_cpu = getattr(
    torch._C._dynamo.guards, "_empty_strided_cpu",
    lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device="cpu"))


def base_of(value):
    """What a tensor is a view of; None for all else."""
    return value._base if isinstance(value, torch.Tensor) else None


def _bytes_beyond(tensor):
    """Of its memory, what lies behind its last element: with sizes, strides and offset, which guards say, that is how
    large its memory is, and the same for tensors of many lengths."""
    if not has_memory(tensor):
        return None
    bytes = tensor.untyped_storage().nbytes()
    if tensor.is_nested:  # It has no sizes as others have.
        return bytes
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    elements = tensor.storage_offset() + last + 1 if tensor.numel() else 0
    return bytes - elements * tensor.element_size()


# What may be asked of a tensor, and no guard says: the names under which code asks (none: always; a class, whose name is what
# an import says, asks too), and what is asked.
QUESTIONS = (
    (("is_leaf",), lambda tensor: tensor.is_leaf), (("grad_fn",), lambda tensor: tensor.grad_fn is None),
    (NAMES_OF_BASES, lambda tensor: tensor._base is None),
    (("retains_grad",), lambda tensor: tensor.retains_grad), (("output_nr",), lambda tensor: tensor.output_nr),
    (("untyped_storage", "storage", "_typed_storage"), _bytes_beyond),
    (("_backward_hooks",), lambda tensor: not tensor._backward_hooks),
    ((), lambda tensor: [bool(getattr(tensor, name, False)) for name in ("_is_buffer", "_is_param")]))


def are_apart(tensors):
    """Do their storages share no memory? Two may be of one, as those of two tensors made of one NumPy array."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    extents = sorted([(storage.data_ptr(), storage.nbytes()) for storage in storages if storage.nbytes()])
    return all([begin + size <= after for (begin, size), (after, _) in zip(extents, extents[1:])])


def keys_number(tensor):
    """Its dispatch keys."""
    return torch._C._dispatch_keys(tensor).raw_repr()


def dynamic_dims(tensor):
    """Dims that the program marked as dynamic."""
    return getattr(tensor, "_dynamo_dynamic_indices", frozenset())


def has_unbacked_sizes(tensor):
    return hasattr(tensor, "_dynamo_unbacked_indices")


def metadata_check(tensors):
    """f(*tensors) -> bool: do they all still have the metadata that these have, and is none another one?"""
    from torch._C._dynamo.guards import TensorGuards

    return TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check


def uses_of(storage):
    """How many tensors hold it, and 1 for the Python object."""
    return torch._C._storage_Use_Count(storage._cdata)


class StorageHeld:
    """One that a tensor has, and this. PyTorch has one Python object for it, so that uses_of() knows nothing of who else holds that."""

    def __init__(self, storage):
        self.storage = storage

    def references(self):
        """Of Python, weak ones too."""
        return sys.getrefcount(self.storage) + weakref.getweakrefcount(self.storage)


def _references_of_one():
    tensor = torch.empty(1)
    return StorageHeld(tensor.untyped_storage()).references()


REFERENCES_OF_ONE = _references_of_one()


def is_held_only_by(values, place):
    """Is it the list alone that holds this tensor of its? No variable, and nothing that PyTorch keeps for gradients."""
    return sys.getrefcount(values[place]) <= 2 and _count_uses(values[place]) == 1


# f(tensor): how often PyTorch itself holds it, and 1 for the Python object. Without that nothing is known.
_count_uses = getattr(torch.Tensor, "_use_count", lambda _: math.inf)


def has_memory(value):
    """Or is it no tensor at all? What transforms wrap (a batch of gradients) has none of its own, what is fake has none."""
    return not isinstance(value, torch.Tensor) or torch._C._has_storage(value) and not isinstance(value, FakeTensor)
