"""CPython's frame evaluation as Dynamo uses it: a callback in front of Dynamo's, what Dynamo traced, and bytecode
under a guard of our own."""

import functools
import sys
import threading
import weakref
from typing import Any, NamedTuple

import torch

from ..base.signals import learn_handlers
from . import facts, unguarded
from .names import OPTIMIZERS
from .noted import optimizers
from .guards import keys_of, orders_of, sameness_of, unguarded_of, words_of

_tracing = threading.local()
_BYTES = (bytes, bytearray, memoryview)


class Trace(NamedTuple):
    """What Dynamo knows when it has built the guards of a frame."""

    guards: list  # guards.GuardWords, in Dynamo's order.
    metadata: dict  # Source of a tensor input -> its sizes and strides, maybe symbolic.
    traced_code: list  # Code objects: the frame's, and of all that was inlined.
    installed_globals: frozenset  # Names that Dynamo put into the frame's globals.
    texts: frozenset  # All that were met on the way: what code asks for by text is among them.
    meets_bytes: bool  # Is anything encoded or decoded on the way?
    constant_calls: list  # (function, arguments, keywords, result) of those whose result counts as constant.
    places: dict  # File -> {dis.Positions} of the instructions that were traced.
    scopes: list  # [(code object, globals with which it was traced)]
    optimizers: list  # [(optimizer, source)] of those that Dynamo took apart.


class Recorded(NamedTuple):
    """A frame that Dynamo transformed."""

    trace: Trace
    code: Any


def attach(is_ours, find, record, audit):
    """From now on, compiled functions whose backend `is_ours` ask first. Once per process.

    find(frame, keywords, dynamic): (Installed, token), either may be None. An Installed, with `code` and `check`,
    takes the place of a trace, and audit(token, trace) may have the frame traced in a process of its own. Without one,
    and with a token, record(token, frame) is a context manager around Dynamo's own work; it gives a function that is
    called with a Recorded if the frame was transformed, and gives (check(locals) to ask before Dynamo's guards, or None;
    is_enough(), whether that stands in their place)."""
    from torch._dynamo import convert_frame

    original_wrapper = convert_frame.catch_errors_wrapper
    original_manager = convert_frame.CheckFunctionManager

    def catch_errors_wrapper(callback, hooks):
        backend = _innermost(callback)
        ours = _Callback(callback, backend, find, record, audit) if is_ours(backend) else callback
        return original_wrapper(ours, hooks)

    def check_function_manager(code, output_graph, *arguments, **keywords):
        manager = original_manager(code, output_graph, *arguments, **keywords)
        notes = getattr(_tracing, "notes", None)
        if notes is not None:
            notes.trace = notes.of(output_graph)
        return manager

    convert_frame.catch_errors_wrapper = catch_errors_wrapper
    convert_frame.CheckFunctionManager = check_function_manager
    _note_constants()
    _note_places()
    _note_unguarded_sameness()
    unguarded.attach(lambda: held.unguarded if (held := getattr(_tracing, "notes", None)) is not None else None)
    if facts.first_difference(OPTIMIZERS) is None:
        optimizers.attach(lambda: held.optimizers if (held := getattr(_tracing, "notes", None)) is not None else None)


def _note_constants():
    from torch._dynamo import variables
    from torch._dynamo.variables import functions, nn_module

    original_invoke = functions.invoke_and_store_as_constant

    def invoke_and_store_as_constant(tx, function, *arguments, **keywords):
        notes = getattr(_tracing, "notes", None)

        def invoke(*given, **named):
            asked = copied(given), copied(named)  # The function may change what it was given.
            result = function(*given, **named)
            if notes is not None:
                notes.constant_calls.append((function, *asked, result))
            return result

        return original_invoke(tx, invoke, *arguments, **keywords)

    # What stands for texts and bytes, and what for objects whose classes are kinds of these, as of an enumeration.
    for name in ("ConstantVariable", "UserDefinedObjectVariable", "EnumVariable", "ByteArrayVariable"):
        if hasattr(variables, name):
            _note_values(getattr(variables, name))
    for module in (functions, nn_module):
        module.invoke_and_store_as_constant = invoke_and_store_as_constant


def _note_values(variable):
    make = variable.__init__

    def note_value(self, *arguments, **keywords):
        notes = getattr(_tracing, "notes", None)
        if notes is not None:
            for value in (*arguments, *keywords.values()):
                if issubclass(type(value), str):
                    notes.texts.add(str.__str__(value))
                elif issubclass(type(value), _BYTES):
                    notes.meets_bytes = True
        make(self, *arguments, **keywords)

    variable.__init__ = note_value


def _note_places():
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase

    original_step = InstructionTranslatorBase.step

    def step(self):
        try:
            return original_step(self)
        finally:
            notes = getattr(_tracing, "notes", None)
            if notes is not None:
                notes.scopes[id(self.f_code), id(self.f_globals)] = self.f_code, self.f_globals
                positions = self.current_instruction.positions
                notes.places[id(positions)] = self.f_code.co_filename, positions  # No other has this id while it is held.

    InstructionTranslatorBase.step = step


def _note_unguarded_sameness():
    """Dynamo guards that two sources give one object where both begin in locals, or neither does. Of two others it knows the
    first alone from then on."""
    from torch._dynamo import guards

    original_guard = guards.make_dupe_guard

    def make_dupe_guard(source, other):
        guard = original_guard(source, other)
        notes = getattr(_tracing, "notes", None)
        if notes is not None and guard is None and other and source != other:
            notes.same[source] = other
        return guard

    for name, module in list(sys.modules.items()):  # Versions differ in who has imported it.
        if name.startswith("torch._dynamo.") and getattr(module, "make_dupe_guard", None) is original_guard:
            module.make_dupe_guard = make_dupe_guard


class _Notes:
    """What is noted while one frame is traced."""

    def __init__(self):
        self.trace = None  # The last one: Dynamo may begin anew.
        self.meets_bytes = False
        self.texts, self.constant_calls, self.places, self.scopes = set(), [], {}, {}
        self.same = {}  # Source -> another one, of the same object.
        self.unguarded = unguarded.Unguarded()
        self.optimizers = optimizers.Optimizers()

    def of(self, output_graph):
        from torch._guards import Guard

        places = {}
        for path, positions in self.places.values():
            if positions is not None:  # As of what Dynamo writes itself.
                places.setdefault(path, set()).add(positions)
        guards = sorted({*(output_graph.guards or ()), *self.unguarded.skipped(output_graph)}, key=Guard.sort_key)
        return Trace(
            [words_of(each) for each in guards] + orders_of(output_graph) + [sameness_of(*pair) for pair in self.same.items()]
            + [keys_of(each) for each in self.unguarded.whole(output_graph)]
            + [unguarded_of(each) for each in self.unguarded.sources(output_graph, guards)],
            output_graph.input_source_to_sizes_strides,
            list({id(code): code for code in output_graph.traced_code}.values()),
            frozenset(output_graph.installed_globals), frozenset(self.texts), self.meets_bytes,
            list(self.constant_calls), places, list(self.scopes.values()), self.optimizers.of(output_graph))


def copied(value):
    """Containers of Python's own anew, with what they hold as it is."""
    if type(value) in (list, tuple, set):
        return type(value)(copied(each) for each in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value


def _innermost(callback):
    while hasattr(callback, "_torchdynamo_orig_backend"):
        callback = callback._torchdynamo_orig_backend
    return callback


class _Callback:
    """A frame callback in front of Dynamo's."""

    def __init__(self, callback, backend, find, record, audit):
        self._callback = callback
        # Frame evaluation follows this name to the backend; for DDP, Dynamo takes one step.
        self._torchdynamo_orig_backend = callback._torchdynamo_orig_backend
        self._keywords = getattr(backend, "kwargs", {})
        self._dynamic = getattr(backend, "dynamic", None)
        self._find, self._record, self._audit = find, record, audit

    def __call__(self, frame, cache_entry, hooks, frame_state, skip=0):
        from torch._dynamo.convert_frame import has_tensor_in_frame
        from torch._dynamo.types import ConvertFrameReturn

        if not has_tensor_in_frame(frame):
            return ConvertFrameReturn()  # As Dynamo decides too: there is nothing to trace.
        if optimizers.is_around_a_step(frame.f_code):
            return ConvertFrameReturn()
        learn_handlers()
        installed, token = self._find(frame, self._keywords, self._dynamic)

        def run_dynamo(between):
            return self._callback(frame, cache_entry, hooks, frame_state, skip=skip + between)

        if installed is not None:
            self._audit(token, lambda: self._trace(token, frame, run_dynamo))
            return _guarded(installed, frame.f_code, frame.f_locals, frame.f_globals)
        return run_dynamo(2) if token is None else self._trace(token, frame, run_dynamo)

    def _trace(self, token, frame, run_dynamo):
        outer = getattr(_tracing, "notes", None)
        _tracing.notes = notes = _Notes()
        try:
            with self._record(token, frame) as finish:
                result = run_dynamo(3)
        finally:
            _tracing.notes = outer
        if result.guarded_code is None or notes.trace is None:
            finish(None)
            return result
        check, is_enough = finish(Recorded(notes.trace, result.guarded_code.code))
        if check is not None:
            _ask_first(check, is_enough, result.guarded_code.guard_manager)
        return result

    @property
    def _clone_with_backend(self):
        return self._callback._clone_with_backend


def without_dynamo(function, reason):
    """The function, which Dynamo does not look into."""
    return torch.compiler.disable(function, reason=reason)


def _ask_first(check, is_enough, manager):
    """`check` is asked before Dynamo's `manager`: it costs less. Where it does not hold, that one decides, unless it is_enough():
    Dynamo does not guard which gradients are one."""
    from torch._C._dynamo.guards import RootGuardManager

    dynamos, root, whose = manager.root, RootGuardManager(), weakref.ref(manager)

    def holds(local_values):
        own = whose()
        own.root = dynamos  # The frame's entry knows the other one by now; who asks what failed is told by this one.
        return check(local_values) or not is_enough() and own.check(local_values)

    root.add_lambda_guard(holds, ["the guards of a Stoker capture, and Dynamo's"], None)
    manager.root = root
    manager.stoker_root = root  # The entry holds a plain pointer to it.


def _invalidate(whose):
    """Of an optimizer that has died, or holds other states: the entry counts no more towards PyTorch's limit of them."""
    from torch._dynamo.guards import DeletedGuardManagerWrapper

    manager = whose()
    if manager is not None and manager.cache_entry is not None and manager.extra_state is not None:
        manager.extra_state.invalidate(
            manager.cache_entry, DeletedGuardManagerWrapper("what a Stoker capture is of has died"))


def _guarded(installed, entry_code, local_values, global_values):
    """An Installed as what a frame callback returns."""
    from torch._C._dynamo.guards import RootGuardManager
    from torch._dynamo import convert_frame
    from torch._dynamo.guards import GuardManagerWrapper
    from torch._dynamo.types import GuardedCode, wrap_guarded_code
    from torch._dynamo.utils import orig_code_map
    from torch._guards import CompileId

    # Dynamo looks its own output up in these, to explain recompiles and not to trace it again.
    orig_code_map[installed.code] = entry_code
    convert_frame.output_codes.add(installed.code)
    root = RootGuardManager()
    root.add_lambda_guard(installed.check, ["the guards of a Stoker capture"], None)
    manager = GuardManagerWrapper(root)
    manager.id_matched_objs = {
        name: weakref.ref(value) for name, value in local_values.items()
        if any(value is optimizer for optimizer in installed.optimizers)}
    if installed.installation is not None:
        installed.installation.when_dropped = functools.partial(_invalidate, weakref.ref(manager))
    manager.global_scope, manager.closure_vars = {"G": global_values}, {}  # To explain a recompile.
    return wrap_guarded_code(GuardedCode(
        installed.code, manager, CompileId(frame_id=0, frame_compile_id=0), "Stoker capture"))
