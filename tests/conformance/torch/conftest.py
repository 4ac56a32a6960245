import os
import pathlib
import sys

import pytest

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parents[2] / "client" / "python")]

os.environ["STOKER_CAPTURES"] = "off"  # These tests are about tracing.


@pytest.fixture(autouse=True)
def nothing_is_asked_of_a_daemon_ahead(monkeypatch):
    """What stands for compiled code is made when it is called for."""
    from stoker.lowering.ahead import Ahead

    monkeypatch.setattr(Ahead, "begin", lambda *_: None)
