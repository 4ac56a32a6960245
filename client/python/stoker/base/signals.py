"""What comes into the midst of any code ends what the program wants ended: an exception that a signal handler raises, or that
another thread has raised here (PyThreadState_SetAsyncExc)."""

import functools
import gc
import inspect
import os
import signal
import sys
import sysconfig
import types

_PYTHONS = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
_PACKAGES = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("platlib", "purelib")})
_OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
# Of packages, what Stoker itself calls; what they raise is an answer.
_CALLED = ("numpy", "stoker", "torch")
_CALLED_FILES = tuple(os.path.join(folder, name, "") for folder in _PACKAGES for name in _CALLED)
_NOT_FOREIGN = sys.stdlib_module_names - {"__main__"} | {"builtins", *_CALLED}  # Some have no file, or lie anywhere.
_MAX_DEPTH = 8  # Of exceptions that others were raised for, and of what a handler consists of.

# Kinds of what calls another one -> where that stands.
_WRAPPERS = {
    types.MethodType: "__func__", staticmethod: "__func__", classmethod: "__func__", types.MethodWrapperType: "__self__",
    functools.partial: "func", functools.partialmethod: "func", type(functools.lru_cache(min)): "__wrapped__"}

_traceback_of = BaseException.__traceback__.__get__  # A class may hide it.

_handlers = {}  # id -> code object of what handled a signal when somebody looked.


def learn_handlers():
    """Before it may be interrupted: a handler may take itself away before it raises."""
    for handler in [signal.getsignal(number) for number in range(1, signal.NSIG)]:
        if not (handler is None or isinstance(handler, int)):  # signal.SIG_DFL and SIG_IGN are numbers.
            _handlers.update((id(code), code) for code in _codes_of(handler) if _is_foreign(code))  # PyTorch's run for anybody.


def let_through(error):
    """Where any exception is caught: raises it again if it came so. What Python makes of it on its way may stand for it: a
    generator that StopIteration ends raises RuntimeError."""
    at = _traceback_of(error)
    if at is None or error.__context__ is None and at.tb_next is None and type(error).__module__ == "builtins":
        return  # Raised where it was caught: the usual.
    for each in _made_of(error):
        if _came_so(each):
            raise each


def _made_of(error):
    """The exception, and those that it was raised for below the frame that caught it."""
    for _ in range(_MAX_DEPTH):
        yield error
        inner = error.__cause__ or error.__context__
        if inner is None or _traceback_of(inner) is None:
            return
        # Otherwise it may be one that the caller handled long before.
        if inner is not error.__cause__ and _traceback_of(inner).tb_frame not in _frames_of(error):
            return
        error = inner


def _frames_of(error):
    at = _traceback_of(error)
    while at is not None:
        yield at.tb_frame
        at = at.tb_next


def _came_so(error):
    frames = list(_frames_of(error))
    foreign = [frame.f_code for frame in frames[1:] if _is_foreign(frame.f_code)]
    if foreign:
        learn_handlers()
        if any(id(code) in _handlers and _is_of_one(code) for code in foreign):
            return True
    # No code of ours or of Python's raises what a program or a package defines.
    elif _is_foreign_module(type(error).__module__):
        return True
    return any(_is_given(*pair) for pair in zip(frames[1:], frames))


class suppressed:
    """contextlib.suppress, but for what came so."""

    def __init__(self, *kinds):
        self._kinds = kinds

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None or not isinstance(error, self._kinds):
            return False
        let_through(error)
        return True


def _is_of_one(code):
    """Has no second function this code? All that a decorator makes have that of its wrapper."""
    return sum(isinstance(each, types.FunctionType) for each in gc.get_referrers(code)) < 2


def _is_given(frame, interrupted):
    """A signal handler is given the number of the signal, and the frame into which it comes."""
    code, count = frame.f_code, frame.f_code.co_argcount
    takes_more = bool(code.co_flags & inspect.CO_VARARGS)
    if count < 2 and not takes_more:
        return False
    held = frame.f_locals
    values = [held.get(name) for name in code.co_varnames[:count]]
    if takes_more:
        values += held.get(code.co_varnames[count + code.co_kwonlyargcount], ())
    return any(
        isinstance(number, int) and 0 < number < signal.NSIG and value is interrupted for number, value in zip(values, values[1:]))


def _codes_of(handler, depth=0):
    """Of what runs when it is called, as far as that can be told."""
    if isinstance(handler, types.FunctionType):
        yield handler.__code__
    elif depth < _MAX_DEPTH:
        for part in _parts_of(handler):
            yield from _codes_of(part, depth + 1)


def _parts_of(handler):
    for kind, name in _WRAPPERS.items():
        if isinstance(handler, kind):
            return [getattr(handler, name)]
    if not callable(handler):
        return []
    is_class = isinstance(handler, type)
    names = ("__new__", "__init__") if is_class else ("__call__",)
    return [
        vars(base)[name] for base in (handler if is_class else type(handler)).__mro__ for name in names if name in vars(base)]


def _is_foreign_module(name):
    """Is it a program's or a package's, but one that Stoker calls?"""
    return name.partition(".")[0] not in _NOT_FOREIGN and _is_foreign_file(getattr(sys.modules.get(name), "__file__", None) or "")


def _is_foreign(code):
    return _is_foreign_file(code.co_filename)


def _is_foreign_file(path):
    if path.startswith(_PACKAGES):  # They may lie in the folder of Python's own library.
        return not path.startswith((_OWN, *_CALLED_FILES))
    return not path.startswith((_OWN, *_PYTHONS, "<frozen "))
