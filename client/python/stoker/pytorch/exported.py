"""Programs of torch.export out of the JSON that they are saved as."""

import torch


def namespaces():
    """Of the operators that are registered."""
    return {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}


def has_operator(name):
    """Is "aten.add.Tensor" registered? Functions that are not dispatched by the type of tensors are no operators."""
    namespace, operator, overload = name.split(".")
    suffix = "" if overload == "default" else f".{overload}"
    return f"{namespace}::{operator}{suffix}" in torch._C._dispatch_get_all_op_names()


def has_tree_type(name):
    """Can pytree make such a thing of leaves?"""
    from torch.utils._pytree import SERIALIZED_TYPE_TO_PYTHON_TYPE

    return name in SERIALIZED_TYPE_TO_PYTHON_TYPE


def dtype_of(number):
    """The torch.dtype that a program means by it; KeyError if there is none."""
    from torch._export.serde.serialize import deserialize_scalar_type

    return deserialize_scalar_type(number)


def arrange(leaves, tree):
    """What the text of a tree makes of leaves."""
    from torch.utils._pytree import tree_unflatten, treespec_loads

    return tree_unflatten(leaves, treespec_loads(tree))


def tensors_in(value):
    """In any tree."""
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def module_of(program, weights, constants):
    """What ExportedProgram.module() gives for a program (JSON, which PyTorch makes Python of: export_archive/checked.py)
    with such tensors. Without example inputs it checks no inputs."""
    from torch._export.serde.schema import ExportedProgram
    from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass

    serialized = _dict_to_dataclass(ExportedProgram, program)
    return ExportedProgramDeserializer().deserialize(serialized, weights, constants).module()
