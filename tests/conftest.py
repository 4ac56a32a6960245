"""How tests are spread over processes: one by one, but those of a file that is marked `together` stay in one."""

import functools
import pathlib

import pytest

MARK = "pytestmark = pytest.mark.together"


@functools.cache
def is_together(path):
    """The process that spreads tests knows their names alone: it collects none, and asks the file."""
    return MARK in pathlib.Path(path).read_text(encoding="utf-8").splitlines()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Scheduler(LoadGroupScheduling):
        """xdist's own marks change names of tests, which pytest 9.2 does not see."""

        def _split_scope(self, nodeid):
            path = nodeid.partition("::")[0]
            return path if is_together(config.rootpath / path) else nodeid

    return Scheduler(config, log)
