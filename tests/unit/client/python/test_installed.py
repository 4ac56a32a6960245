"""What belongs to Python or to an installed package, and what is a program's own."""

import builtins
import math
import os
import sys
import types

import pytest

from stoker.captures.words import installed
from stoker.captures.words.installed import is_installed_function, is_installed_module


def test_installed_is_what_lies_where_packages_are_and_nothing_else():
    assert all(map(is_installed_module, (builtins, math, types, pytest, sys.modules["_frozen_importlib"])))
    cell = types.ModuleType("stoker_test_cell")
    for path in ("<cell>", "/program/train", "/program/train.py"):
        exec(compile("def f():\n    return 1", path, "exec"), vars(cell))
        assert not is_installed_function(cell.f)
    assert not is_installed_module(cell) and not is_installed_function(test_installed_is_what_lies_where_packages_are_and_nothing_else)
    assert is_installed_function(types.new_class)


@pytest.mark.parametrize("file, above", [(pytest.__file__, 2), (types.__file__, 1)])
def test_a_folder_beside_that_of_packages_is_a_programs(file, above):
    folder = os.path.abspath(os.path.join(file, *[".."] * above))
    assert installed.lies_where_packages_are(f"{folder}/module.so") and installed.is_installed_file(f"{folder}/module.py")
    assert not installed.lies_where_packages_are(f"{folder}-of-ours/module.so")
    assert not installed.is_installed_file(f"{folder}-of-ours/module.py")
