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
        assert each._finish(None, types.SimpleNamespace(trace=None, code=None)) is None
        return said

    return finish


def test_the_collector_of_cycles_waits_while_a_capture_is_made(finished):
    before, seen = gc.get_threshold(), []

    def build(*_):
        seen.append(gc.get_threshold()[0])
        raise NotPortable("a value of the test's")

    assert finished(build) == [("local", "a value of the test's")]
    assert seen == [0]
    assert gc.get_threshold() == before
