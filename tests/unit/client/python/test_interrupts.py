"""Signals that come while libstoker runs, and are handled as it calls Python, or while captures are looked at."""

import ctypes
import functools
import inspect
import operator
import os
import signal
import sys
import threading
import types

import pytest

from stoker.base import signals
from stoker.captures.check import native
from stoker.captures.premises import checks
from stoker.captures.premises.shapes import compile_expressions
from stoker.captures.words import paths
from stoker.captures.words.held import held
from stoker.libstoker import client
from stoker.runtime import host_calls
from stoker.runtime.kept_calls import KeptCalls
from stoker.runtime.loaded import Loaded


@pytest.fixture(autouse=True)
def interrupts():
    """Ctrl-C raises, as in a program that was started in a terminal: in the background it may be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Library:
    """A run of one operator; Ctrl-C is pressed before it or not at all."""

    def __init__(self, host):
        self.host = host
        self.is_pressed = False

    def stoker_executable_run(self, handle):
        call = functools.partial(self.host.function, None, 0, None, None, None)
        # Nothing of Python runs between the two.
        list(map(operator.call, [ctypes.pythonapi.PyErr_SetInterrupt, call] if self.is_pressed else [call]))
        return None  # Whatever the call gave.


def test_an_interrupt_between_kernels_ends_the_call(monkeypatch):
    ran = []
    monkeypatch.setattr(host_calls, "_Call", lambda number, described, device, kept: lambda *memory: ran.append(described))
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: None)
    loaded = Loaded.__new__(Loaded)
    loaded.host, loaded.handle, loaded._verifies = host_calls.HostCalls(["an operator"], "cpu", KeptCalls(None, None)), None, False
    loaded.library = Library(loaded.host)
    for is_pressed in (False, True, False):
        loaded.library.is_pressed = is_pressed
        if is_pressed:
            with pytest.raises(KeyboardInterrupt):
                loaded.run_once(())
        else:
            loaded.run_once(())
    assert len(ran) == 2


class Compiler:
    """Ctrl-C is pressed before it says how far it is."""

    stoker_graph_parse = stoker_graph_free = staticmethod(lambda *_: None)

    def stoker_compile(self, handle, graph, options, executable):
        progress = options._obj.progress
        said = [functools.partial(progress, None, b"compile", 0, 1, b"", 5.0)] if progress else []
        list(map(operator.call, [ctypes.pythonapi.PyErr_SetInterrupt, *said]))


def test_an_interrupt_of_a_compile_is_not_lost(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: None)
    made = client.Client.__new__(client.Client)
    made._library, made._handle = Compiler(), None
    with pytest.raises(KeyboardInterrupt):
        made.compile("graph")


class TimeIsUp(Exception):
    """What a watchdog of the program's raises."""


class Watched:
    """Whoever looks at it is interrupted."""

    @property
    def looked_at(self):
        signal.raise_signal(signal.SIGALRM)

    @property
    def odd(self):
        raise TimeIsUp


class Watchdog:
    def __call__(self, number, frame):
        raise TimeIsUp


class AtOnce:
    def __init__(self, number, frame):
        raise TimeIsUp


class ByPartial:
    __call__ = functools.partial(lambda *given: Watchdog()(*given))


def watch(number, frame):
    raise TimeIsUp


def watch_once(*given):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    raise TimeIsUp


def watch_with_another(number, frame):
    raise TimeoutError


@pytest.fixture(params=[
    watch, watch_once, watch_with_another, functools.partial(watch), Watchdog(), Watchdog().__call__, AtOnce, ByPartial()])
def watchdog(request):
    before = signal.signal(signal.SIGALRM, request.param)
    yield TimeoutError if request.param is watch_with_another else TimeIsUp
    signal.signal(signal.SIGALRM, before)


def value_of(name):
    watched = Watched()
    return paths.Values([[paths.ROOT, "local", "x"], [0, "attr", name]], paths.Scope({"x": watched}, {}))[1]


@pytest.mark.parametrize("look", [
    lambda name: held(Watched(), name), value_of,
    lambda name: checks.matches("has attribute", Watched(), name, None),
    lambda name: compile_expressions([f"L['x'].{name}.size() == 1"], {})({"x": Watched()})])
def test_what_a_signal_handler_raises_ends_what_it_interrupts(watchdog, look):
    with pytest.raises(watchdog):
        look("looked_at")
    look("odd")  # Raised by the program, but by no handler.


def test_what_another_thread_raises_here_goes_through():
    def raised(kind):
        try:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(kind))
            list(range(10))
        except Exception as error:
            signals.let_through(error)

    raised(ValueError)  # As any code may.
    with pytest.raises(TimeIsUp):
        raised(TimeIsUp)


def asked(ask, look):
    """Of the guard program in C++: what looks at `x`, and asks this about it."""
    record = {
        "nodes": [[paths.ROOT, "local", "x"], [0, "attr", look]], "guards": [[1, "order", None, ""]], "distinct": []}
    return native.program(record, {}, ask, watch=False).first_failure({"x": Watched()})


@pytest.mark.skipif(native.extension() is None, reason="stoker_guards is not built")
def test_what_a_signal_handler_raises_goes_through_the_guard_program(watchdog):
    def interrupted(number, value):
        signal.raise_signal(signal.SIGALRM)

    with pytest.raises(watchdog):
        asked(lambda number, value: True, "looked_at")
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        with pytest.raises(watchdog):
            asked(interrupted, "__class__")


@pytest.mark.skipif(native.extension() is None, reason="stoker_guards is not built")
def test_what_code_itself_raises_is_an_answer_of_the_guard_program():
    def raises(number, value):
        raise OSError

    assert asked(lambda number, value: True, "missing") == 0
    assert asked(raises, "__class__") == 0


def test_what_a_signal_handler_raises_is_not_suppressed(watchdog):
    with pytest.raises(watchdog), signals.suppressed(Exception):
        signal.raise_signal(signal.SIGALRM)
    with signals.suppressed(KeyError):
        raise KeyError
    with pytest.raises(ValueError), signals.suppressed(KeyError):
        raise ValueError


def walks(number, frame):
    while frame is not None:  # To say where it hangs.
        frame = frame.f_back
    raise TimeoutError


def forgets(*given):
    del given
    raise TimeoutError


def forgets_all(number, frame):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    number = frame = None
    raise TimeoutError


def ends(number, frame):
    raise StopIteration


class Hidden(TimeoutError):
    __traceback__ = property(lambda self: None)


def hides(number, frame):
    raise Hidden


@pytest.fixture
def handled(request):
    before = signal.signal(signal.SIGALRM, request.param)
    signals.learn_handlers()
    yield StopIteration if request.param is ends else TimeoutError
    signal.signal(signal.SIGALRM, before)


def by_generator():
    return any(signal.raise_signal(signal.SIGALRM) for _ in range(1))


def by_json():
    class Iterates:
        def __iter__(self):
            try:
                signal.raise_signal(signal.SIGALRM)
            except StopIteration:
                raise ValueError("no items") from None

    return list(Iterates())


class ByPartialMethod:
    __call__ = functools.partialmethod(forgets)


class Made:
    def __new__(cls, *given):
        forgets(*given)


def limit(seconds):
    def forgets_within(number, frame):
        del number, frame
        raise TimeoutError(seconds)

    return forgets_within


def limit_of_any():
    def forgets_all_within(*given):
        del given
        raise TimeoutError

    return forgets_all_within


class Limit:
    def __call__(self, *given):
        del given
        raise TimeoutError


class Loses:
    def ends(self, number, frame):
        self = number = frame = None
        raise TimeoutError


class GoesOn:
    """To who is asked when it does not know."""

    def __init__(self, parent=None):
        self.parent = parent

    def ends(self, number, frame):
        while self.parent is not None:
            self = self.parent
        del number, frame
        raise TimeoutError


def becomes_another(number, frame):
    del number, frame
    becomes_another.__code__ = (lambda number, frame: None).__code__
    raise TimeoutError


class OfNobody:
    @staticmethod
    def __call__(number, frame):
        number = frame = None
        raise TimeoutError


class OfTheClass:
    @classmethod
    def __call__(cls, number, frame):
        del number, frame
        raise TimeoutError


def forgets_the_rest(first, *rest):
    first = rest = None
    raise TimeoutError


class Making(type):
    def __call__(cls, *given):
        del given
        raise TimeoutError


class MadeByAnother(metaclass=Making):
    pass


OTHERS = [limit(1), limit_of_any(), Limit()]  # Of the same code as those that are tried.


@pytest.mark.parametrize("handled", [
    limit(2), limit_of_any(), Limit(), MadeByAnother, Loses().ends, GoesOn(GoesOn()).ends, OfNobody(), OfTheClass(),
    types.MethodType(functools.partial(forgets_the_rest, 1), Limit()), walks, forgets, forgets_all, ends, hides, walks.__call__, functools.lru_cache(walks), functools.partial(forgets.__call__, 1),
    ByPartialMethod(), Made], indirect=True)
@pytest.mark.parametrize("interrupted", [by_generator, by_json])
def test_what_a_signal_handler_raises_goes_through_whatever_became_of_it(handled, interrupted):
    try:
        raise handled  # Long before, and handled where it came.
    except handled:
        with pytest.raises(ValueError):
            try:
                raise ValueError
            except Exception as error:
                signals.let_through(error)
                raise
        with pytest.raises(handled):
            try:
                interrupted()
            except Exception as error:
                signals.let_through(error)


def test_a_handler_that_becomes_another_goes_through(monkeypatch):
    code = becomes_another.__code__
    before = signal.signal(signal.SIGALRM, becomes_another)
    signals.learn_handlers()
    try:
        with pytest.raises(TimeoutError), signals.suppressed(TimeoutError):
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
        becomes_another.__code__ = code


def takes_nothing():
    pass


class TakesOne:
    def __call__(self, number):
        pass


@pytest.mark.parametrize("handler", [
    takes_nothing, threading.Event().set, [].append, os.getpid, sys.exit, functools.partial(sys.exit, 1), TakesOne()])
def test_what_python_raises_of_a_handler_that_cannot_be_called_goes_through(monkeypatch, handler):
    monkeypatch.setattr(signals, "_refusing", set())
    before = signal.signal(signal.SIGALRM, handler)
    signals.learn_handlers()
    try:
        with pytest.raises(TypeError), signals.suppressed(TypeError):
            signal.raise_signal(signal.SIGALRM)
        with signals.suppressed(TypeError):
            {{}}
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, TypeError])
def test_what_is_raised_while_handlers_are_learnt_goes_through(monkeypatch, kind):
    """Whatever they are."""
    def interrupts(*given):
        raise kind("raised by a handler")

    asked = signals._takes

    def takes(*given):
        signal.raise_signal(signal.SIGALRM)
        return asked(*given)

    before = signal.signal(signal.SIGALRM, interrupts)
    monkeypatch.setattr(signals, "_takes", takes)
    try:
        with pytest.raises(kind, match="raised by a handler"):
            signals.learn_handlers()
    finally:
        signal.signal(signal.SIGALRM, before)


class Lazy:
    """Of an object that is not set up, whatever is asked for it."""

    def __call__(self, number, frame):
        pass

    def __getattr__(self, name):
        raise RuntimeError(name)

    __class__ = property(lambda self: self.object)
    __signature__ = property(lambda self: self.object)


def test_handlers_are_asked_for_nothing():
    before = signal.signal(signal.SIGALRM, Lazy())
    try:
        signals.learn_handlers()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_what_a_package_defines_goes_through(monkeypatch):
    monkeypatch.setattr(signals, "_PACKAGES", (*signals._PACKAGES, __file__.removesuffix("test_interrupts.py")))
    test_what_another_thread_raises_here_goes_through()


class Unready:
    @property
    def __class__(self):
        raise LookupError


def fails(number, frame):
    raise ValueError


def test_arguments_are_asked_for_nothing():
    with signals.suppressed(ValueError):
        fails(Unready(), 1)


def test_what_code_made_of_its_arguments_is_no_matter():
    def rebinds(first, *rest):
        first = rest = None
        raise TimeoutError

    with signals.suppressed(TimeoutError):
        rebinds(1, 2)


def logged(function):
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


def refuses(kind):
    raise LookupError(kind)


def refuses_for(kind, frame):
    raise LookupError(kind, frame)


class Logged:
    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments):
        return self.function(*arguments)


def test_a_class_of_handlers_has_other_objects():
    before = signal.signal(signal.SIGALRM, Logged(forgets))
    try:
        with signals.suppressed(LookupError):
            Logged(refuses)(int)
        with pytest.raises(TimeoutError), signals.suppressed(TimeoutError):
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_handlers_that_are_gone_are_forgotten(monkeypatch):
    monkeypatch.setattr(signals, "_MAX_HANDLERS", 8)
    monkeypatch.setattr(signals, "_handlers", {})
    before = signal.getsignal(signal.SIGALRM)
    try:
        for second in range(100):
            signal.signal(signal.SIGALRM, limit(second))
            signals.learn_handlers()
            assert len(signals._handlers) <= 9
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("refuse", [
    lambda: logged(refuses)(int), lambda: refuses_for(int, inspect.currentframe()), lambda: refuses_for("x", inspect.currentframe())])
def test_what_a_program_raises_is_an_answer_though_a_handler_looks_alike(refuse):
    before = signal.signal(signal.SIGALRM, logged(refuses_for))
    try:
        with signals.suppressed(LookupError):
            refuse()
        with pytest.raises(LookupError), signals.suppressed(LookupError):
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
