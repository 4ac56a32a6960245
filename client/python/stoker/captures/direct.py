"""stoker.compile: what torch.compile(..., backend="stoker") does, for short processes.

When a capture holds, its bytecode is called as a function, and nothing of torch._dynamo, torch._inductor,
sympy or triton is imported. Otherwise the call goes through torch.compile, whose frames look for captures
too, and record.
"""

import functools
import inspect
import types

import torch

from ..base import collector, modes
from ..base.locks import ProcessLock
from ..base.log import warn_of_bug
from ..base.signals import learn_handlers, let_through
from ..pytorch.modules import CompiledModule
from ..pytorch.names import DIRECT
from .attach import whole_frames
from .store.key import digest_ahead, options_text
from .trust import features

_lock = ProcessLock()
MAX_INSTALLED = 8  # Captures of one function; further kinds of calls go through torch.compile.


def compile(model=None, *, mode=None, options=None, dynamic=None, fullgraph=False):
    """The function or module, compiled. Arguments as of torch.compile."""
    settings = {"mode": mode, "options": options, "dynamic": dynamic, "fullgraph": fullgraph}
    if model is None:
        return functools.partial(compile, **settings)
    if isinstance(model, torch.nn.Module):
        return CompiledModule(model, _Call(model, settings))
    call = _Call(model, settings)

    @functools.wraps(model)
    def compiled(*arguments, **keywords):
        return call(*arguments, **keywords)

    return compiled


class _Definition:
    """What a function was defined to be when captures of it were installed."""

    def __init__(self, function):
        self.code, self.closure = function.__code__, function.__closure__
        self._defaults, self._keywords = function.__defaults__, _items(function.__kwdefaults__)
        self.signature = inspect.signature(_plain(function, self.code))
        self.installed = []  # (check, function)

    def is_of(self, function):
        return (
            function.__code__ is self.code and function.__defaults__ is self._defaults
            and function.__closure__ is self.closure
            and _are_same(_items(function.__kwdefaults__), self._keywords))


def _items(dictionary):
    return tuple((dictionary or {}).items())


def _are_same(some, others):
    return len(some) == len(others) and all(
        name == other_name and value is other
        for (name, value), (other_name, other) in zip(some, others))


class _Call:
    """Calls of one function or module."""

    def __init__(self, target, settings):
        self.settings = settings
        self._target = target
        self._is_module = isinstance(target, torch.nn.Module)
        self._is_on = False  # May start from captures: what is on stays on.
        self._definition = None
        self._compiled = None  # torch.compile's, made when it is needed.
        self._options = options_text(settings["dynamic"])
        if features.may_be_on(DIRECT):
            digest_ahead()

    def of(self, target):
        """Calls of another one, compiled as this."""
        return _Call(target, self.settings)

    def __getstate__(self):
        return self._target, self.settings

    def __setstate__(self, state):
        self.__init__(*state)

    def __call__(self, *arguments, **keywords):
        if torch.compiler.is_compiling():
            return self._target(*arguments, **keywords)
        entry = self._entry() if self._may_start() else None
        if entry is not None:
            function, *own = entry
            run = self._find(function, own, arguments, keywords)
            if run is not None:
                return run(*own, *arguments, **keywords)
        return self._through_dynamo()(*arguments, **keywords)

    def _through_dynamo(self):
        with _lock():  # PyTorch looks a backend up once, and raises where several threads do.
            if self._compiled is None:
                self._compiled = torch.compile(self._target, backend="stoker", **self.settings)
        return self._compiled

    def _may_start(self):
        if torch.jit.is_tracing():  # Says itself that it does not trace what is compiled.
            return False
        if features.needs_graph(self.settings["options"]):
            return False
        if not self._is_on:
            try:
                self._is_on = features.are_on(DIRECT)
            except Exception as error:
                let_through(error)
                warn_of_bug("a start is not warm", error)
        return self._is_on

    def _entry(self):
        """[function, self if it is a method]: the frame that Dynamo would start at. None where calling a
        module runs more than its forward."""
        target = self._target
        if self._is_module:
            if _runs_more_than_forward()(target):
                return None
            target = target.forward
        if isinstance(target, types.MethodType):
            return [target.__func__, target.__self__]
        return [target] if isinstance(target, types.FunctionType) else None

    def _find(self, function, own, arguments, keywords):
        if self._definition is None or not self._definition.is_of(function):
            self._definition = _Definition(function)
        definition = self._definition
        try:
            bound = definition.signature.bind(*own, *arguments, **keywords)
        except TypeError as error:
            let_through(error)
            return None  # The call itself says what is wrong.
        bound.apply_defaults()
        local_values = bound.arguments
        code = definition.code
        for name, cell in zip(code.co_freevars, definition.closure or ()):
            try:
                local_values[name] = cell.cell_contents
            except ValueError as error:
                let_through(error)
                return None
        for check, run in definition.installed:
            if check(local_values):
                return run
        if len(definition.installed) >= MAX_INSTALLED or self._compiled is not None:
            return None
        learn_handlers()
        with collector.paused():
            frames = whole_frames()
            if frames is None:
                return None
            installed, start = frames.find(
                code, function.__globals__.get("__name__"), dict(local_values), function.__globals__,
                self._options, None, modes.replays(self.settings["mode"]))
        if installed is None:
            return None
        frames.audit_beside(start, lambda: self._through_dynamo()(*arguments, **keywords))
        run = _plain(function, installed.code)
        definition.installed.append((installed.check, run))
        return run


@functools.cache
def _runs_more_than_forward():
    from ..pytorch.state import runs_more_than_forward  # Not where PyTorch is not as it needs it.

    return runs_more_than_forward


def _plain(function, code):
    """A function that takes the same arguments, without what wraps it and without annotations: evaluating these
    may raise."""
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
