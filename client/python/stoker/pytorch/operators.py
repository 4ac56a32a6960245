"""Operators as a graph names them."""

import contextlib
import functools
import os
import re
import sys
import types

import torch

from ..base.mapped import contains, mapped
from ..base.signals import let_through
from ..libstoker.extension import extension
from . import installation

_MAX_DEPTH = 8  # Of functions in closures.
OpOverload = type(torch.ops.aten.add.Tensor)
OpOverloadPacket = type(torch.ops.aten.add)
CONVERT = torch.ops.aten._to_copy.default
# The same elements in another shape. The second promises that nobody sees what it is given again.
VIEWS = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)
# They give a batch norm first, by running statistics where they do not train.
BATCH_NORMS = (torch.ops.aten._native_batch_norm_legit_no_training.default, torch.ops.aten.native_batch_norm.default)
INDEXING = (torch.ops.aten.index.Tensor, torch.ops.aten._unsafe_index.Tensor)
# Names of kernels, as torch.library notes them, begin and end so.
_ATEN = "aten/"
_META = "/Meta"  # PyTorch has a thousand of its own.
_DEVICES = frozenset(("CPU", "CUDA"))
_COMPOSITE = "CompositeImplicitAutograd"  # Where a kernel goes for which no key is named.
# PyTorch's own, where a Library made by an import does not say by what file (before PyTorch 2.15).
_IMPORTED = "<frozen importlib"
_MADE_BY_IMPORTS = frozenset(("aten/to_dense/FuncTorchDynamicLayerFrontMode", "aten/to_dense/PythonTLSSnapshot"))
# What makes a Library in the name of whoever calls it.
_FOR_OTHERS = ("library.py", "_library", "_custom_op")
# What makes one for whoever registered there: PyTorch's own modules, or others.
_REGISTRY = "_native/registry.py"
# In names of symbols that an extension in C++ asks PyTorch for.
_SYMBOLS = (b"torch", b"3c10")
_OF_OPERATORS = ("name", "schema", "debug", "alias analysis kind")  # Lines of a dump that are about no kernel.
_NAMESPACE = b"aten"  # A compiler may write it into an instruction, without what ends a text.


def look_at_real_tensors():
    """A context in which AOTAutograd's fake mode is off."""
    try:
        from torch.utils._python_dispatch import _disable_current_modes
    except ImportError as error:
        let_through(error)
        return contextlib.nullcontext()
    return _disable_current_modes()


def python_functions(operator):
    """What a custom operator is to a trace: the Python functions that say what it gives, without running it. None where
    that is not known."""
    try:
        from torch._library.custom_ops import OPDEFS
        from torch._library.simple_registry import singleton
    except ImportError as error:
        let_through(error)
        return None
    packet = operator if isinstance(operator, OpOverloadPacket) else operator.overloadpacket
    name = str(packet).replace(".", "::", 1)
    definition = OPDEFS.get(name)
    kernel = getattr(getattr(singleton.find(name), "fake_impl", None), "kernel", None)
    found = {}
    for function in (
            getattr(definition, "_abstract_fn", None), getattr(kernel, "func", None), getattr(definition, "_vmap_fn", None)):
        _collect(function, found)
    return list(found.values()) or None


def autocast_types(operator):
    """What a program says in which types a custom operator gets its arguments under autocast."""
    from torch._library.custom_ops import OPDEFS

    definition = OPDEFS.get(str(operator).replace(".", "::", 1))
    return [str(getattr(definition, name, None)) for name in ("_autocast_dtype", "_autocast_cpu_dtype", "_autocast_cuda_dtype")]


def _collect(function, found, depth=0):
    """Below what PyTorch wraps them in, which keeps notes of its own."""
    if not isinstance(function, types.FunctionType) or depth == _MAX_DEPTH:
        return
    if installation.place_of(function.__code__) is None:
        found[id(function)] = function
        return
    for cell in function.__closure__ or ():
        try:
            _collect(cell.cell_contents, found, depth + 1)
        except ValueError as error:
            let_through(error)
            continue  # An empty cell.


def computes_with_tensors(name, value):
    """Is this what PyTorch has under that name, and a function of its arguments alone: torch.add, torch.nn.functional.gelu?"""
    if isinstance(value, types.FunctionType):
        return vars(torch.nn.functional).get(name) is value and installation.place_of(value.__code__) is not None
    return isinstance(value, types.BuiltinFunctionType) and any(
        getattr(functions, name, None) is value for functions in (torch._C._VariableFunctions, torch._C._nn))


def operator_of(name):
    """The packet that str() gives as `name`; None if there is none."""
    namespace, _, name = name.partition(".")
    try:
        return getattr(getattr(torch.ops, namespace), name)
    except AttributeError as error:
        let_through(error)
        return None


def overload_of(name):
    """What str() gives as `name`, "aten.add.Tensor"; None if there is none."""
    packet, _, overload = name.rpartition(".")
    return getattr(operator_of(packet), overload, None)


def schema_of(operator):
    """What an operator's arguments and results are; None where it has none, or is no operator."""
    return getattr(operator, "_schema", None)


def named_argument(node, name):
    """Of an fx node that calls an operator; None where the operator has none of this name."""
    schema = schema_of(node.target)
    for place, argument in enumerate(schema.arguments if schema is not None else ()):
        if argument.name == name:
            default = argument.default_value
            return node.args[place] if place < len(node.args) else node.kwargs.get(name, default)
    return None


def set_argument(node, name, value):
    """The other way round: the operator has one of this name."""
    for place, argument in enumerate(schema_of(node.target).arguments):
        if argument.name == name and place < len(node.args):
            node.update_arg(place, value)
        elif argument.name == name:
            node.update_kwarg(name, value)


def has_kernel(operator, device_type):
    """Has it one for this kind of device alone? Then it is no composition of others."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), device_type.upper())


def operators_in(namespace):
    """Names of all that are registered, without overloads."""
    prefix = f"{namespace}::"
    return {
        name.removeprefix(prefix).partition(".")[0] for name in torch._C._dispatch_get_all_op_names()
        if name.startswith(prefix)}


def runs_graphs(gm):
    """Has the module operators that run graphs of their own?"""
    return any(isinstance(module, torch.fx.GraphModule) for module in gm.children())


def errors_of_unknown_sizes():
    """What such a mode raises where elements decide about sizes or numbers."""
    from torch._subclasses import fake_tensor
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    return fake_tensor.DynamicOutputShapeException, fake_tensor.DataDependentOutputException, GuardOnDataDependentSymNode


def fake_mode(runs_graphs=False, has_unknown_sizes=False):
    """A mode in which operators know sizes and compute nothing. `runs_graphs`: among them such that run graphs of their
    own, which ask for symbols that nobody sees. `has_unknown_sizes`: such that give sizes, or numbers, which only a run
    knows: symbols here."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    if not runs_graphs and not has_unknown_sizes:
        return FakeTensorMode(allow_non_fake_inputs=True)
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    sizes = ShapeEnv(allow_scalar_outputs=has_unknown_sizes, allow_dynamic_output_shape_ops=has_unknown_sizes)
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=sizes)


def kernel_of_the_program():
    """The name of a kernel that the program, or a package, gave one of PyTorch's own operators, as "aten/sin/CPU", under a
    dispatch key through which calls with tensors of the CPU or a CUDA device may go; None where there is none. A trace takes
    operators apart, and rules and captures say what PyTorch's kernels do: with one, none of that holds."""
    try:
        for kernel in torch.library._impls:  # Those that were made in Python.
            if not kernel.endswith(_META) and kernel.startswith(_ATEN) and _is_programs(kernel):
                return kernel
    except AttributeError as error:  # Of PyTorch: facts.py names what is missing.
        let_through(error)
        return None
    return _kernel_of(_files_with_kernels())


def _files_with_kernels():
    """Of PyTorch's operators they may be: files of compiled code that are not PyTorch's, use it, and name their namespace."""
    module = extension()
    if module is None:
        return frozenset(path for _, _, path in mapped() if _may_have_kernels(path))
    return frozenset(module.files_that_may_register(
        _SYMBOLS, os.fsencode(installation.ROOT), _NAMESPACE))


@functools.cache
def _may_have_kernels(path):
    if installation.path_in(path) is not None:
        return False
    return contains(path, _NAMESPACE) and any(contains(path, each) for each in _SYMBOLS)


def _kernel_of(files):
    """One that such files brought: there is no list of them, as there is of those that were made in Python. They may do so
    at any time."""
    if not files:
        return None
    for operator in torch._C._dispatch_get_all_op_names():
        if operator.startswith("aten::"):
            for key, where in _kernels(operator):
                if _is_of_another(where, operator, key) and key != _META.strip("/") and not key.endswith(_other_devices()):
                    return f"{operator.replace('::', '/')}/{key}"
    return None


@functools.cache
def _sources():
    """The folder that PyTorch was built from."""
    schemas = re.search(r"^debug: registered at (.*?)build/aten/", torch._C._dispatch_dump("aten::sin"), re.MULTILINE)
    return schemas and schemas[1]


def _is_of_another(where, operator, key):
    """Was what stands in this place compiled, and not with PyTorch? What Python made has a list."""
    if _sources() is None or where.startswith((_sources(), _IMPORTED)) or installation.path_in(where) is not None:
        return False
    name = operator.replace("::", "/")
    return torch.library._impls.isdisjoint((f"{name}/{key}", *[f"{name}/"] * (key == _COMPOSITE)))


def _is_programs(kernel):
    _, operator, key = kernel.split("/")
    return not key.endswith(_other_devices()) and not _is_pytorchs(kernel, f"aten::{operator}", key or _COMPOSITE)


@functools.cache
def _other_devices():
    """How the names of those dispatch keys end that belong to one of the other kinds of device."""
    keys = torch._C.DispatchKey.__members__
    first, last = (keys[f"{edge}DenseBackends"].value for edge in ("StartOf", "EndOf"))
    names = (name for name, key in keys.items() if first < key.value <= last and not name.startswith("EndOf"))
    return tuple(name for name in names if name not in _DEVICES)


def _is_pytorchs(kernel, operator, key):
    """By the file in which the Library was made that the dispatcher has the kernel from."""
    for name, where in _kernels(operator):
        if name == key:
            if where.startswith(_IMPORTED):
                return kernel in _MADE_BY_IMPORTS
            path = installation.path_in(where) or ""
            return _overrides_with_its_own(operator, key) if path.startswith(_REGISTRY) else (
                path and not path.startswith(_FOR_OTHERS))
    return False


def _overrides_with_its_own(operator, key):
    """Are all functions PyTorch's that its registry of overrides has for an operator under a key?"""
    graphs = getattr(sys.modules.get("torch._native.registry"), "_graphs", {})
    overrides = graphs.get((*operator.split("::"), key), ())
    return bool(overrides) and all(
        _is_of_pytorch(function) for override in overrides for function in (override.cond_fn, override.impl_fn))


def _is_of_pytorch(function):
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, types.FunctionType):
        return installation.place_of(function.__code__) is not None
    return type(function).__module__.partition(".")[0] == torch.__name__


def _kernels(operator):
    """Yields (dispatch key, where it was registered, or what it says of itself in place of that) of its kernels."""
    for line in torch._C._dispatch_dump(operator).splitlines():
        name, _, where = line.partition(": ")
        if where and name not in _OF_OPERATORS:
            yield name.removesuffix("[alias]").rstrip(), where.removeprefix("registered at ")
