"""What an installed package is counts: its version, its files, and what code of it reads that runs in place of being traced."""

import pathlib

import pytest
from e2e.hits import start

pytestmark = pytest.mark.together
HERE = pathlib.Path(__file__).parent
JOB = HERE / "packages_job.py"
SOURCES = {
    "__init__.py": '''
import abc, enum, torch
from . import lazy, plain
from .tables import FACTOR, Table
class Meta(type):
    def __getitem__(cls, key):
        return cls.weights[key] * FACTOR * Table.scale
class Registry(metaclass=Meta):
    weights = {"w": 2}
class Subscripted:
    def __class_getitem__(cls, key):
        return key * FACTOR
class Choice(enum.Enum):
    FIRST = 1
    def __bool__(self):
        return FACTOR == 2
@torch.compiler.allow_in_graph
def operation(x):
    return x * FACTOR
class Abstract(abc.ABC):
    pass
class Named(str, enum.Enum):
    FIRST = "first"
    @classmethod
    def _missing_(cls, value):
        raise ValueError(f"{value} is not a {cls.__name__}, but one of {list(cls._value2member_map_.keys())}")
class Keyed(type):
    def __getitem__(cls, key):
        return cls.factor * key
class Held:
    factor = 2
held = Held()
class OfHeld(type):
    def __getitem__(cls, key):
        return held.factor * key
class ByObject(metaclass=OfHeld):
    pass
def __getattr__(name):
    raise AttributeError(name)
''',
    "plain.py": """
import other
def older():
    return 1
def enable():
    global later
    def later():
        return 1
if other.LIMIT == 2:
    enable()
""",
    "lazy.py": """
ON = False
def __getattr__(name):
    if name == "extra" and ON:
        return 1
    raise AttributeError(name)
""",
    "tables.py": "FACTOR = 2\nclass Table:\n    scale = 1\n",
}
NEWER = {"__init__.py": "def newer():\n    return 1\nAbstract.register(int)\n", "plain.py": "def newer():\n    return 1\n"}


def install(folder, version, sources, package="thing"):
    """As a package's manager does, with the digests of files in its RECORD."""
    (folder / package).mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (folder / package / name).write_text(text)
    for path in folder.glob(f"{package}-*.dist-info"):
        (path / "RECORD").unlink()
        path.rmdir()
    metadata = folder / f"{package}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text("".join(
        f"{package}/{name},sha256={hash(text) & 0xFFFF:x},{len(text)}\n" for name, text in sources.items()))


def install_both(folder):
    install(folder, "1.0", {"__init__.py": "LIMIT = 1\n"}, "other")
    install(folder, "1.0", SOURCES)


def test_an_update_counts_and_so_do_options(site, tmp_path):
    install_both(tmp_path)
    assert start(site, JOB, tmp_path) == set()
    everything = start(site, JOB, tmp_path)
    assert len(everything) == 13
    # Set by the program, in the package that is as it was,
    reading = {"of_a_metaclass", "of_a_class_of_ones_own", "of_a_subscript", "of_an_enumeration", "of_an_operation"}
    # and its own class, that a package's metaclass reads.
    reading |= {"of_an_object_that_it_holds", "of_a_name_by_option", "of_a_class_that_its_metaclass_reads"}
    changed = start(
        site, JOB, tmp_path, "thing.FACTOR = thing.held.factor = Keyed.factor = 3; thing.lazy.ON = True; "
        "thing.Registry.weights['w'] = 5; thing.Table.scale = 7")
    assert changed == everything - reading
    answered = start(site, JOB, tmp_path, "thing.__getattr__ = lambda name: 1; thing.Abstract.register(int)")
    assert answered.isdisjoint({"of_a_name", "of_an_abstract_class"})
    # Another package is updated, which this one reads.
    install(tmp_path, "2.0", {"__init__.py": "LIMIT = 2\n"}, "other")
    assert "of_a_late_name" not in start(site, JOB, tmp_path)
    install(tmp_path, "1.0", {"__init__.py": "LIMIT = 1\n"}, "other")
    # An update.
    install(tmp_path, "2.0", {
        **{name: text + NEWER.get(name, "") for name, text in SOURCES.items()}, "tables.py": "FACTOR = 3\nclass Table:\n    scale = 2\n"})
    assert start(site, JOB, tmp_path) == set()


def test_a_file_that_is_edited_counts(site, tmp_path):
    install_both(tmp_path)
    start(site, JOB, tmp_path)
    (tmp_path / "thing" / "tables.py").write_text("FACTOR = 2\nclass Table:\n    scale = 3\n")
    assert start(site, JOB, tmp_path).isdisjoint({"of_a_metaclass", "of_a_class_of_ones_own"})
