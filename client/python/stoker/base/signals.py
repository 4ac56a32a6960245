"""What comes into the midst of any code ends what the program wants ended: an exception that a signal handler raises, or that
another thread has raised here (PyThreadState_SetAsyncExc)."""

import inspect
import os
import sys
import sysconfig

_INSTALLED = (*{os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platlib", "purelib")}, "<frozen ")
_NOT_A_PROGRAMS = sys.stdlib_module_names - {"__main__"} | {"builtins", "torch"}  # Some have no file, or lie anywhere.
_OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def let_through(error):
    """Where any exception is caught: raises it again if it came so."""
    at = error.__traceback__
    if at is None:
        return
    is_programs = False
    while at.tb_next is not None:
        if _is_given(at.tb_next.tb_frame, at.tb_frame):
            raise error
        at = at.tb_next
        is_programs = is_programs or _is_programs(at.tb_frame.f_code.co_filename)
    # No code of ours, of Python's or of a package's raises what a program defines.
    if not is_programs and _defines(type(error).__module__):
        raise error


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
    """A signal handler is given the frame into which it comes."""
    code, count = frame.f_code, frame.f_code.co_argcount
    takes_more = bool(code.co_flags & inspect.CO_VARARGS)
    if count < 2 and not takes_more:
        return False
    held = frame.f_locals
    values = [held.get(name) for name in code.co_varnames[:count]]
    if takes_more:
        values += held.get(code.co_varnames[count + code.co_kwonlyargcount], ())
    return any(value is interrupted for value in values)


def _defines(module_name):
    """Is it a module of the program's?"""
    if module_name.partition(".")[0] in _NOT_A_PROGRAMS:
        return False
    return _is_programs(getattr(sys.modules.get(module_name), "__file__", None) or "")


def _is_programs(path):
    return not path.startswith((*_INSTALLED, _OWN))
