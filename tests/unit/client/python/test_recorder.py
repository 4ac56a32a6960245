import gc
import types

import pytest

from stoker.captures.record import recorder
from stoker.captures.words.values import NotPortable


@pytest.fixture
def finished(monkeypatch):
    """Has a frame recorded by a build() of the test's own."""

    def finish(build):
        each = object.__new__(recorder.Recorder)
        each._key, each._audited, each._code = types.SimpleNamespace(entry="f (job.py:1)"), None, None
        each._scope = each._loaded = each._state = each._reason = None
        monkeypatch.setattr(recorder, "build", build)
        monkeypatch.setattr(recorder.features, "may_be_on", lambda: True)
        monkeypatch.setattr(recorder.beside, "is_child", lambda: False)
        said = []
        monkeypatch.setattr(recorder, "note", lambda entry, how, reason=None, **_: said.append((how, reason)))
        assert each._finish(None, types.SimpleNamespace(trace=None, code=None)) == (None, None)
        return said

    return finish


def test_the_collector_of_cycles_waits_while_a_capture_is_made(finished):
    """For what was there before: that is frozen, as tests have much of PyTorch already (conftest.py)."""
    gc.unfreeze()
    old, seen = [], []

    def build(*_):
        seen.append(any(each is old for each in gc.get_objects()))
        raise NotPortable("a value of the test's")

    assert finished(build) == [("local", "a value of the test's")]
    assert seen == [False] and any(each is old for each in gc.get_objects())
    gc.freeze()
