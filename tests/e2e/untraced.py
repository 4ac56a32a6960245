"""Which functions of a program Python runs while a frame is made ready, and so in place of tracing them.

Dynamo traces code by interpreting it, which Python does not see; what it runs, it runs as any caller does. So each
function of the program that Python enters between the start of a frame's conversion and its end ran untraced.
"""

import sys
import threading
from contextlib import contextmanager

from stoker.captures.record import record, recorder

_GUARDS = ("_dynamo/convert_frame.py", "build_guards")  # (file, function) that runs code to say what guards expect,
_CONSTANTS = ("stoker/pytorch/frames.py", "invoke")  # and that runs functions whose results captures compare.
_MADE = "<string>"  # The file of what exec() makes.
_TOOL = 4  # Of sys.monitoring: one that nobody else has.


class _Frame:
    """One conversion."""

    def __init__(self, code):
        self._name = code.co_qualname
        self._ran = {}  # id of a code object -> it. This holds it, so that no other one has its id.
        self.reached, self.reason = None, None

    def note(self, frame):
        code = frame.f_code
        if id(code) not in self._ran and not _is_known(frame.f_back):
            self._ran[id(code)] = code

    def words(self):
        """As JSON: the functions that ran untraced, and those of them that count neither as unseen nor as traced."""
        ran = list(self._ran.values())
        return {
            "entry": self._name, "reason": self.reason, "ran": [code.co_qualname for code in ran],
            "missed": [code.co_qualname for code in ran if not self._is_counted(code)]}

    def _is_counted(self, code):
        """In what goes to another process."""
        if self.reason or self.reached is None:
            return bool(self.reason)
        return self.reached.is_unseen(code) or any(code is each for each in self.reached.traced)


def _is_known(frame):
    """Does it run for something that says what it gave?"""
    while frame is not None:
        code = frame.f_code
        if any(code.co_name == name and code.co_filename.endswith(path) for path, name in (_GUARDS, _CONSTANTS)):
            return True
        frame = frame.f_back
    return False


class Untraced:
    """Notes it for programs whose files lie in `folder`, from now on until the process ends."""

    def __init__(self, folder):
        self._folder = folder
        self._frames, self._open = [], []
        self._wrap_recorder()
        self._wrap_reached()
        if hasattr(sys, "monitoring"):
            sys.monitoring.use_tool_id(_TOOL, "untraced functions")
            sys.monitoring.register_callback(_TOOL, sys.monitoring.events.PY_START, self._note_start)

    def take(self):
        """Of each conversion since it was last asked for, words()."""
        taken = [frame.words() for frame in self._frames]
        self._frames.clear()
        return taken

    def _wrap_recorder(self):
        original_frame, original_finish = recorder.Recorder.frame, recorder.Recorder._finish

        @contextmanager
        def frame(this):
            this.untraced = _Frame(this._code)
            self._frames.append(this.untraced)
            with original_frame(this) as finish, self._noting(this.untraced):
                yield finish

        def finish(this, leaves, recorded):
            self._finished = this.untraced
            check = original_finish(this, leaves, recorded)
            this.untraced.reason = this._reason
            return check

        recorder.Recorder.frame, recorder.Recorder._finish = frame, finish

    def _wrap_reached(self):
        make = record.Reached

        def reached(*arguments):
            self._finished.reached = make(*arguments)
            return self._finished.reached

        record.Reached = reached

    @contextmanager
    def _noting(self, frame):
        self._open.append(frame)
        self._listen()
        try:
            yield
        finally:
            self._open.pop()
            self._listen()

    def _listen(self):
        if hasattr(sys, "monitoring"):
            sys.monitoring.set_events(_TOOL, sys.monitoring.events.PY_START if self._open else 0)
            self._thread = threading.get_ident()
        else:
            sys.setprofile(self._note_call if self._open else None)

    def _note_call(self, frame, event, _):
        if event == "call" and self._is_programs(frame):
            self._open[-1].note(frame)

    def _note_start(self, code, _):
        if self._thread == threading.get_ident() and self._is_programs(frame := sys._getframe(1)):
            self._open[-1].note(frame)

    def _is_programs(self, frame):
        """What exec() made has no file of its own."""
        path = frame.f_code.co_filename
        if path == _MADE:
            path = frame.f_globals.get("__file__") or ""
        return path.startswith(self._folder)
