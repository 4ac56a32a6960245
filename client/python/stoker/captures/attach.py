"""Compiled functions look for a capture before Dynamo traces, and record what it traced."""

from ..base import collector, modes
from ..pytorch import frames as dynamo_frames
from ..pytorch.frames import without_dynamo
from .store import key
from .trust import features


def attach(is_ours):
    """From now on, for compiled functions whose backend `is_ours`. Once per process."""
    if features.may_be_on():
        dynamo_frames.attach(is_ours, _find, _record, _audit)
        key.digest_ahead()


def _find(frame, keywords, dynamic):
    """(Installed or None, Start or None): what takes the frame's place, or what to record it for."""
    with collector.paused():
        frames = whole_frames()
        if frames is None or features.needs_graph(keywords.get("options")):
            return None, None
        return frames.find(
            frame.f_code, frame.f_globals.get("__name__"), dict(frame.f_locals), frame.f_globals,
            key.options_text(dynamic), _disabled, modes.replays(keywords.get("mode")))


def whole_frames():
    """The module; None while it is being imported further out: a signal handler of the program's calls what is compiled."""
    from .install import frames

    return frames if hasattr(frames, "IS_LOADED") else None


def _audit(start, trace):
    from .install import frames

    frames.audit_beside(start, trace)


def _record(start, frame):
    from .install.quick import quick_check
    from .record.recorder import Recorder

    return Recorder(start, frame.f_code, dict(frame.f_locals), frame.f_globals, quick_check).frame()


def _disabled(function):
    return without_dynamo(function, "Stoker's captured graph")
