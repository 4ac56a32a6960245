"""A plugin of pytest: of the tests of mapping and frontend, which are thousands that share little, one in so many. Which
ones follows from their names, so that every run has the same.

usage: pytest -p matrix.sample --one-in N ...
"""

import zlib

_SAMPLED = ("conformance/torch/", "unit/client/python/")


def pytest_addoption(parser):
    parser.addoption("--one-in", type=int, default=1, metavar="N", help="how many tests of mapping and frontend run: one in N")


def is_kept(name, one_in):
    return not any(folder in name for folder in _SAMPLED) or zlib.crc32(name.encode()) % one_in == 0


def pytest_collection_modifyitems(config, items):
    kept = {item: is_kept(item.nodeid, config.getoption("--one-in")) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not kept[item]])
    items[:] = [item for item in items if kept[item]]
