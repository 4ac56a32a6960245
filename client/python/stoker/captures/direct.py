"""stoker.compile: what torch.compile(..., backend="stoker") does, for short processes.

When a capture holds, its bytecode is called as a function, and nothing of torch._dynamo, torch._inductor,
sympy or triton is imported. Otherwise the call goes through torch.compile, whose frames look for captures
too, and record.
"""

import functools
import inspect
import types

import torch

from ..pytorch.names import DIRECT
from . import features
from .key import options_text

MAX_INSTALLED = 8  # Captures of one function; further kinds of calls go through torch.compile.


def compile(model=None, *, mode=None, options=None, dynamic=None, fullgraph=False):
    """The function or module, compiled. Arguments as of torch.compile."""
    settings = {"mode": mode, "options": options, "dynamic": dynamic, "fullgraph": fullgraph}
    if model is None:
        return functools.partial(compile, **settings)
    if isinstance(model, torch.nn.Module):
        return CompiledModule(model, settings)
    call = _Call(model, settings)

    @functools.wraps(model)
    def compiled(*arguments, **keywords):
        return call(*arguments, **keywords)

    return compiled


class CompiledModule(torch.nn.Module):
    """As torch.compile's: the module is `_orig_mod`, and what is not found here is found there."""

    def __init__(self, module, settings):
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_call", _Call(module, settings))
        self.training = module.training

    def forward(self, *arguments, **keywords):
        return self._call(*arguments, **keywords)

    def train(self, mode=True):
        self._orig_mod.train(mode)
        self.training = mode
        return self

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)


class _Call:
    """Calls of one function or module."""

    def __init__(self, target, settings):
        self._target = target
        self._settings = settings
        self._is_module = isinstance(target, torch.nn.Module)
        self._is_on = False  # May start from captures: what is on stays on.
        self._installed = []  # (check, function)
        self._compiled = None  # torch.compile's, made when it is needed.
        keywords = {"mode": settings["mode"]} if settings["mode"] not in (None, "default") else {}
        if settings["options"]:
            keywords["options"] = settings["options"]
        self._options = options_text(keywords, settings["dynamic"])
        self._signature = None

    def __call__(self, *arguments, **keywords):
        if torch.compiler.is_compiling():
            return self._target(*arguments, **keywords)
        self._is_on = self._is_on or features.are_on(DIRECT)
        entry = self._entry() if self._is_on else None
        if entry is not None:
            function, *own = entry
            run = self._find(function, (*own, *arguments), keywords)
            if run is not None:
                return run(*own, *arguments, **keywords)
        if self._compiled is None:
            self._compiled = torch.compile(self._target, backend="stoker", **self._settings)
        return self._compiled(*arguments, **keywords)

    def _entry(self):
        """[function, self if it is a method]: the frame that Dynamo would start at. None where calling a
        module runs more than its forward."""
        target = self._target
        if self._is_module:
            if "forward" in vars(target) or _runs_more_than_forward()(target):
                return None
            target = target.forward
        if isinstance(target, types.MethodType):
            return [target.__func__, target.__self__]
        return [target] if isinstance(target, types.FunctionType) else None

    def _find(self, function, arguments, keywords):
        if self._signature is None:
            self._signature = inspect.signature(_plain(function, function.__code__))
        try:
            bound = self._signature.bind(*arguments, **keywords)
        except TypeError:
            return None  # The call itself says what is wrong.
        bound.apply_defaults()
        local_values = bound.arguments
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                local_values[name] = cell.cell_contents
            except ValueError:
                return None
        for check, run in self._installed:
            if check(local_values):
                return run
        if len(self._installed) >= MAX_INSTALLED or self._compiled is not None:
            return None
        from . import frames

        installed, _ = frames.find(
            code, function.__globals__.get("__name__"), dict(local_values), function.__globals__,
            self._options, None)
        if installed is None:
            return None
        run = _plain(function, installed.code)
        self._installed.append((installed.check, run))
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
