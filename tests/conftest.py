"""How tests are spread over processes: one by one, but those of a file that is marked `together` stay in one, and those
that are `alone` run by themselves.

What collecting has imported is for good: nobody looks through it for garbage again. And no trace of Dynamo's measures how
long its guards take, for which it flushes the processor's caches, or prints its graphs for a log that pytest keeps.

Numbers that a test draws at random follow from its name and `--seed` alone, not from the tests before it.
"""

import functools
import gc
import logging
import pathlib
import random
import sys
import zlib

import pytest

MARK = "pytestmark = pytest.mark.together"
ALONE = "alone"


@functools.cache
def text_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


@functools.cache
def is_together(path):
    """The process that spreads tests knows their names alone: it collects none, and asks the file."""
    return MARK in text_of(path).splitlines()


def pytest_ignore_collect(collection_path, config):
    """A run of the tests that are `alone` imports no file without any: that takes longer than the tests."""
    if config.option.markexpr == ALONE and collection_path.suffix == ".py":
        return True if f"mark.{ALONE}" not in text_of(collection_path) else None
    return None


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


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="draw other random numbers in all tests (default: 0)")


def seed_generators(config, name):
    """Those of the libraries that are imported: a file that imports the first of them draws after its start."""
    seed = zlib.crc32(f"{config.getoption('--seed')} {name}".encode())
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


def pytest_collectstart(collector):
    if isinstance(collector, pytest.Module):
        seed_generators(collector.config, collector.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    seed_generators(item.config, item.nodeid)


def pytest_collection_finish(session):
    if "torch" in sys.modules:
        from torch._dynamo import guards

        guards.profile_guard_manager = lambda *_: 0.0
    # pytest listens to every logger that passes nothing on; this one prints all graphs wherever anybody listens.
    logging.root.manager.loggerDict.pop("torch.__trace", None)
    gc.collect()
    gc.freeze()
