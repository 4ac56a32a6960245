"""python_layering.py on small made-up packages."""

import pytest

import check_layering
from python_layering import PACKAGE, complaints

SOUND = {
    "__init__.py": "from .base.tally import count\n\n\ndef compile():\n    from .captures.direct import go\n",
    "backend.py": "import json\nimport torch\nfrom .captures import direct\nfrom .base import log\n",
    "base/__init__.py": "",
    "base/log.py": "",
    "base/tally.py": "import stoker.base.log\n",
    "pytorch/__init__.py": "",
    "pytorch/facts.py": "from . import versions\nfrom ..base.log import warn\n",
    "pytorch/versions/__init__.py": "import importlib\n\nimportlib.import_module(f'{__name__}.v2')\n",
    "captures/__init__.py": "",
    "captures/direct.py": "def go():\n    from .install import frames\n",
    "captures/install/__init__.py": "",
    "captures/install/frames.py": "from ...pytorch import facts\nfrom ..words.values import encode\n",
    "captures/words/__init__.py": "",
    "captures/words/values.py": "",
}

BROKEN = {
    "import_upwards": (
        {"base/log.py": "import os\nfrom ..pytorch import facts\n"},
        "base/log.py:2: base may not import client/python/stoker/pytorch/facts.py"),
    "import_upwards_in_a_function": (
        {"captures/words/values.py": "def f():\n    from ... import backend\n"},
        "captures/words/values.py:2: captures/words may not import client/python/stoker/backend.py"),
    "import_of_a_folder_above": (
        {"base/log.py": "from ..captures import *\n"}, "base may not import client/python/stoker/captures/__init__.py"),
    "import_by_absolute_name": (
        {"base/log.py": "import stoker.pytorch.facts\n"}, "base may not import"),
    "import_from_by_absolute_name": (
        {"base/log.py": "from stoker.pytorch import facts\n"}, "base may not import"),
    "import_by_text": (
        {"base/log.py": "import importlib\n\n\ndef f():\n    importlib.import_module('stoker.backend')\n"},
        "base/log.py:5: base may not import"),
    "import_of_the_package": (
        {"base/log.py": "import stoker\n"}, "base may not import client/python/stoker/__init__.py"),
    "import_for_types_alone": (
        {"base/log.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import backend\n"},
        "base/log.py:3: base may not import"),
    "import_by_a_neighbour": (
        {"captures/install/frames.py": "", "captures/record/__init__.py": "",
         "captures/record/record.py": "from ..install import frames\n"},
        "captures/record may not import client/python/stoker/captures/install/frames.py"),
    "modules_in_a_circle": (
        {"base/log.py": "from .tally import count\n"},
        "modules import each other: client/python/stoker/base/log.py -> client/python/stoker/base/tally.py -> "),
    "modules_in_a_circle_through_a_function": (
        {"base/log.py": "class A:\n    def f(self):\n        from .tally import count\n"},
        "modules import each other: client/python/stoker/base/log.py -> client/python/stoker/base/tally.py -> "),
    "folders_in_a_circle": (
        {"pytorch/versions/v2.py": "from ..other import Name\n", "pytorch/other.py": ""},
        "folders import each other: client/python/stoker/pytorch -> client/python/stoker/pytorch/versions -> "),
    "a_folder_in_no_layer": (
        {"odds/ends.py": ""}, "odds/ends.py:1: the module's folder is in no layer"),
}


def found(change):
    package = {**SOUND, **change}
    return [
        f"{path}:{line}: {message}"
        for path, line, message in complaints({f"{PACKAGE}/{name}": text for name, text in package.items()})]


def test_Complaints_SoundPackage_None():
    assert found({}) == []


@pytest.mark.parametrize("name", BROKEN)
def test_Complaints_BrokenPackage_NamesPlaceAndRule(name):
    change, expected = BROKEN[name]
    assert any(expected in complaint for complaint in found(change)), found(change)


def test_Complaints_OneCircle_ReportedOnce():
    circle = {"base/a.py": "from . import b\n", "base/b.py": "from . import c\n", "base/c.py": "from . import a\n"}
    assert [complaint for complaint in found(circle) if "import each other" in complaint] == [
        f"{PACKAGE}/base/a.py:1: modules import each other: "
        f"{PACKAGE}/base/a.py -> {PACKAGE}/base/b.py -> {PACKAGE}/base/c.py -> {PACKAGE}/base/a.py."]


def test_Complaints_OtherPython_IsNotRead():
    assert list(complaints({"tests/e2e/test_a.py": "from stoker import backend\n"})) == []


def test_CheckLayering_PythonInACircle_Complains():
    files = {f"{PACKAGE}/base/log.py": "from . import tally\n", f"{PACKAGE}/base/tally.py": "from . import log\n"}
    assert any("modules import each other" in complaint for complaint in check_layering.complaints(files))
