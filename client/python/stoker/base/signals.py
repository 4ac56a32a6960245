"""What comes into the midst of any code ends what the program wants ended: an exception that a signal handler raises, or that
another thread has raised here (PyThreadState_SetAsyncExc)."""

import functools
import inspect
import os
import signal
import sys
import sysconfig
import types
import weakref
from _signal import getsignal
from typing import NamedTuple

_PYTHONS = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
_PACKAGES = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("platlib", "purelib")})
_OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
# Of packages, what Stoker itself calls; what they raise is an answer.
_CALLED = ("numpy", "stoker", "torch")
_CALLED_FILES = tuple(os.path.join(folder, name, "") for folder in _PACKAGES for name in _CALLED)
_NOT_FOREIGN = sys.stdlib_module_names - {"__main__"} | {"builtins", *_CALLED}  # Some have no file, or lie anywhere.
_MAX_HANDLERS = 256  # That are remembered, if some of them are gone.
_MAX_DEPTH = 8  # Of exceptions that others were raised for, and of what a handler consists of.

# Kinds of what calls another one -> where that stands.
_WRAPPERS = {
    types.MethodType: "__func__", staticmethod: "__func__", classmethod: "__func__", types.MethodWrapperType: "__self__",
    functools.partial: "func", functools.partialmethod: "func", type(functools.lru_cache(min)): "__wrapped__"}

# What has a name of its own, and consists of nothing else.
_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)
# What a class of a program's own may say otherwise, by code that may raise.
_name_of_class, _bases_of, _held_by = (vars(type)[name].__get__ for name in ("__qualname__", "__mro__", "__dict__"))
_args_of_partial, _keywords_of_partial = (vars(functools.partial)[name].__get__ for name in ("args", "keywords"))

_GONE = object()  # In place of a variable that a function has deleted, or not yet set.
_traceback_of = BaseException.__traceback__.__get__  # A class may hide it.

_handlers = {}  # Ids of a function, its code and its owner -> _Handler, of what handled a signal when somebody looked.
_refusing = set()  # What Python says, by their names, of those that do not take what a handler is given.


class _Handler(NamedTuple):
    """A function that handles signals."""

    code: types.CodeType
    function: weakref.ref
    owner: int  # id of the object of which it is a method, or of None,
    kind: int  # and of its class.

    def runs_in(self, frame):
        """Is the frame one of its calls? All that a decorator makes share a code object, and differ in what they close over;
        all of a class share its methods."""
        if frame.f_code is not self.code:
            return False
        variables = frame.f_locals
        if self.code.co_argcount:  # It may have put something else in the place of its own object.
            whose = variables.get(self.code.co_varnames[0])
            if id(type(whose)) == self.kind and id(whose) != self.owner and self._is_given_another(variables):
                return False
        function = self.function()
        if function is None:
            return not self.code.co_freevars
        return all(
            variables.get(name, _GONE) is _content_of(cell)
            for name, cell in zip(self.code.co_freevars, function.__closure__ or ()))

    def _is_given_another(self, variables):
        """Does a call of this method have other arguments than a signal's? They may be gone."""
        given = _arguments_of(self.code, variables)[1:]
        return len(given) < 2 or any(
            value is not _GONE and not issubclass(type(value), kind) for value, kind in zip(given, (int, types.FrameType)))


def _arguments_of(code, variables):
    """Those by place, as far as they are there."""
    values = [variables.get(name, _GONE) for name in code.co_varnames[:code.co_argcount]]
    if code.co_flags & inspect.CO_VARARGS:
        rest = variables.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        values += rest if type(rest) is tuple else (_GONE, _GONE)
    return values


def _content_of(cell):
    try:
        return cell.cell_contents
    except ValueError:  # It is empty.
        return _GONE


def learn_handlers():
    """Before it may be interrupted: a handler may take itself away before it raises."""
    # Not signal.getsignal, nor inspect.signature: they take what comes while they run for what they ask about.
    for handler in [getsignal(number) for number in range(1, signal.NSIG)]:
        if handler is None or type(handler) is int or handler is signal.default_int_handler:
            continue  # signal.SIG_DFL and SIG_IGN are numbers.
        for function, owner in _functions_of(handler):
            code = function.__code__  # It may get another one.
            if _is_foreign(code):  # PyTorch's run for anybody.
                _handlers[id(function), id(code), id(owner)] = _Handler(code, weakref.ref(function), id(owner), id(type(owner)))
        if _refuses(handler):
            _refusing.update(text for name in _names_of(handler) for text in (f"{name}() ", f"{name} expected "))
    if len(_handlers) > _MAX_HANDLERS:
        for key in [key for key, each in list(_handlers.items()) if each.function() is None]:
            _handlers.pop(key, None)


def let_through(error):
    """Where any exception is caught: raises it again if it came so. What Python makes of it on its way may stand for it: a
    generator that StopIteration ends raises RuntimeError."""
    at = _traceback_of(error)
    if at is None or error.__context__ is None and at.tb_next is None and type(error).__module__ == "builtins" and (
            not _is_of_refusing(error)):
        return  # Raised where it was caught: the usual.
    for each in _made_of(error):
        if _came_so(each):
            raise each


def is_of_program(error):
    """Has code of a program raised it, or of a package that Stoker does not call?"""
    return any(_is_foreign(frame.f_code) for frame in list(_frames_of(error))[1:])


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


def _refuses(handler, given=2, named=frozenset(), depth=0):
    """May it not take a signal's number, and a frame? `given`: how many arguments by place, `named`: the names of others. True
    where nothing tells."""
    if _is_a(handler, types.FunctionType):
        return not _takes(handler, given, named)
    if _is_a(handler, functools.partial):
        given, named = given + len(_args_of_partial(handler)), named.union(_keywords_of_partial(handler))
    parts = _parts_of(handler)
    return depth == _MAX_DEPTH or not parts or any(
        _refuses(part, given + (owner is not None and not _is_a(part, staticmethod)), named, depth + 1)
        for part, owner in parts)


def _takes(function, given, named):
    code = function.__code__
    places = code.co_varnames[:code.co_argcount]
    keywords = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    needed = [
        *places[given:code.co_argcount - len(function.__defaults__ or ())],
        *(name for name in keywords if name not in (function.__kwdefaults__ or ()))]
    return (
        (given <= len(places) or bool(code.co_flags & inspect.CO_VARARGS)) and named.issuperset(needed)
        and named.isdisjoint(places[code.co_posonlyargcount:given])
        and (bool(code.co_flags & inspect.CO_VARKEYWORDS) or named.issubset((*places[given:], *keywords))))


def _is_of_refusing(error):
    """Is it what Python raises where it calls such a handler, in the frame that is interrupted?"""
    return bool(_refusing) and type(error) is TypeError and any(
        isinstance(said, str) and said.startswith(tuple(_refusing)) for said in error.args)


def _came_so(error):
    if _is_of_refusing(error):
        return True
    frames = list(_frames_of(error))
    foreign = [frame for frame in frames[1:] if _is_foreign(frame.f_code)]
    if foreign:
        learn_handlers()
        handlers = list(_handlers.values())
        if any(handler.runs_in(frame) for frame in foreign for handler in handlers):
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


def _is_given(frame, interrupted):
    """A signal handler is given the number of the signal, and the frame into which it comes."""
    values = _arguments_of(frame.f_code, frame.f_locals)
    return any(
        value is interrupted and type(number) is int and 0 < number < signal.NSIG for number, value in zip(values, values[1:]))


def _functions_of(handler, owner=None, depth=0):
    """Yields (function, the object of which it is a method, or None) of what runs when it is called, as far as that can
    be told."""
    if _is_a(handler, types.FunctionType):
        yield handler, owner
    elif depth < _MAX_DEPTH:
        for part, whose in _parts_of(handler):
            yield from _functions_of(part, owner if whose is None else whose, depth + 1)


def _names_of(handler, depth=0):
    """By which Python calls it, or what runs when it is called."""
    if type(handler) in _NAMED:
        yield handler.__qualname__
        if type(handler) is types.BuiltinFunctionType:
            yield f"{handler.__module__}.{handler.__qualname__}"
    else:
        yield _name_of_class(handler if _is_a(handler, type) else type(handler))
    if depth < _MAX_DEPTH:
        for part, _ in _parts_of(handler):
            yield from _names_of(part, depth + 1)


def _parts_of(handler):
    for kind, name in _WRAPPERS.items():
        if _is_a(handler, kind):
            return [(object.__getattribute__(handler, name), handler.__self__ if kind is types.MethodType else None)]
    if not callable(handler) or type(handler) in _NAMED:
        return []
    is_class = _is_a(handler, type)
    asked = [(type(handler), "__call__", handler), *(((handler, name, None) for name in ("__new__", "__init__")) if is_class else ())]
    return [
        (_held_by(base)[name], owner) for cls, name, owner in asked for base in _bases_of(cls) if name in _held_by(base)]


def _is_a(handler, kind):
    """isinstance, but what an object says of its class is code of the program's, which may raise."""
    return issubclass(type(handler), kind)


def _is_foreign_module(name):
    """Is it a program's or a package's, but one that Stoker calls?"""
    return name.partition(".")[0] not in _NOT_FOREIGN and _is_foreign_file(getattr(sys.modules.get(name), "__file__", None) or "")


def _is_foreign(code):
    return _is_foreign_file(code.co_filename)


def _is_foreign_file(path):
    if path.startswith(_PACKAGES):  # They may lie in the folder of Python's own library.
        return not path.startswith((_OWN, *_CALLED_FILES))
    return not path.startswith((_OWN, *_PYTHONS, "<frozen "))
