"""What a program's signal handler raises ends what it is to end, whatever runs as the signal comes."""

import functools
import signal
import types


def let_through(error):
    """Where any exception is caught: raises it again if a signal handler of the program's raised it."""
    raised_at = error.__traceback__
    if raised_at is None or raised_at.tb_next is None:  # In no call.
        return
    codes = {_code_of(handler) for handler in map(signal.getsignal, signal.valid_signals()) if callable(handler)} - {None}
    while codes and raised_at is not None:
        if raised_at.tb_frame.f_code in codes:
            raise error
        raised_at = raised_at.tb_next


def _code_of(handler):
    while isinstance(handler, (types.MethodType, functools.partial)):
        handler = handler.__func__ if isinstance(handler, types.MethodType) else handler.func
    if not isinstance(handler, types.FunctionType):
        handler = getattr(type(handler), "__call__", None)
    return getattr(handler, "__code__", None)
