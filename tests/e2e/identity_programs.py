"""Programs that ask which objects are one, what tensors share, and for keys that are not there. As those of unseen/."""

from e2e.unseen.head import text_of

_ONE_TEXT = '''
HERE, THERE = "three words long", "three words long" if COUNT == 1 else " ".join(["three", "words", "long"])
SAME, TABLE = operator.is_, {"is": operator.is_}


def ENTRY(x):
    return x * (2 if ASKED else 3)
'''
_KEYS = '''
@dataclasses.dataclass(frozen=True)
class Key:
    number: int


TABLE = {Key(1): 2, Key(2): 1}
if COUNT == 3:
    CHANGED


def ENTRY(x):
    return x * TABLE.get(Key(3), 5)
'''
_TENSORS = '''
HELD = torch.arange(64.0)
FIRST, SECOND = HELD[8:24], HELD[24:40] if COUNT == 1 else torch.arange(60.0)[24:40]
PLACED = HELD[4:20].view(4, 4) if COUNT == 1 else HELD[8:24].view(4, 4)
STORED = torch.ones(8) if COUNT == 1 else HELD[:8]


def ENTRY(x):
    return GIVEN
'''

_ASKED_FOR = '''
ASKED_FOR, NAME, KIND = getattr, "is_leaf", torch.nn.Buffer
GIVEN = {"ask": getattr, "fill": "{0.zq}".format, "sub": re.sub, "find": importlib.util.find_spec, "make": type}
if COUNT == 3:
    sys.modules["stoker_test_other"] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("stoker_test_other", None))
LEAF = torch.ones(4, requires_grad=True) if COUNT == 1 else torch.ones(4, requires_grad=True) * 1
BUFFER = torch.ones(8) if COUNT == 1 else torch.nn.Buffer(torch.ones(8))
LENGTH = "q" * COUNT


def held():
    pass


held.zq = COUNT


class Known:
    def __init_subclass__(cls):
        cls.count = COUNT


def replaced(match):
    return LENGTH


def by_default(value, name, _getattr=getattr):
    return _getattr(value, name, None)


def ENTRY(x):
    return x * (BODY_OF)
'''

PROGRAMS = {
    **{f"asked_{name}": _ASKED_FOR.replace("BODY_OF", asked) for name, asked in {
        "alias": "2 if ASKED_FOR(LEAF, NAME) else 3",
        "of_a_table": '2 if GIVEN["ask"](LEAF, NAME) else 3',
        "by_default": "2 if by_default(LEAF, NAME) else 3",
        "template": 'int(GIVEN["fill"](held))',
        "pattern": 'len(GIVEN["sub"]("b", replaced, "abc"))',
        "module": '2 if GIVEN["find"]("stoker_test_other") is None else 3',
        "made_class": 'GIVEN["make"]("Made", (Known,), {}).count',
        "class": "2 if isinstance(BUFFER, KIND) else 3",
    }.items()},
    "one_text_of_one_character": '''
HERE, THERE = "a", "a" if COUNT == 1 else "A".lower()


def ENTRY(x):
    return x * (2 if HERE is THERE else 3)
''',
    "precision_by_another_name": '''
asked = torch._C._get_cublas_allow_tf32
torch.backends.cuda.matmul.allow_tf32 = COUNT == 3


def ENTRY(x):
    return x * len(str(asked()))
''',
    **{f"one_text_{name}": _ONE_TEXT.replace("ASKED", asked) for name, asked in {
        "or": "HERE is (THERE or None)",
        "either": "HERE is (THERE if TABLE else None)",
        "function": "SAME(HERE, THERE)",
        "method": "operator.is_(HERE, THERE)",
        "not": "not operator.is_not(HERE, THERE)",
        "of_a_table": 'TABLE["is"](HERE, THERE)',
        "partial": "functools.partial(SAME, HERE)(THERE)",
    }.items()},
    **{f"keys_{name}": _KEYS.replace("CHANGED", changed) for name, changed in {
        "more": "TABLE[Key(3)] = 7", "other": "del TABLE[Key(1)]; TABLE[Key(3)] = 7"}.items()},
    "a_version_that_the_metadata_does_not_say": '''
import importlib.metadata
import os
import tempfile

FOLDER = tempfile.mkdtemp()
METADATA = os.path.join(FOLDER, "plugin_of_nobody-1.0.dist-info")
os.mkdir(METADATA)
with open(os.path.join(METADATA, "METADATA"), "w") as file:
    file.write(f"Metadata-Version: 2.1\\nName: plugin-of-nobody\\nVersion: {COUNT}.0\\n")
sys.path.insert(0, FOLDER)


def ENTRY(x):
    return x * (2 if importlib.metadata.version("plugin-of-nobody") == "1.0" else 3)
''',
    "metadata_that_a_program_gives": '''
import importlib.metadata
import types

if COUNT == 3:
    importlib.metadata.distribution = lambda name: types.SimpleNamespace(version="9")


def ENTRY(x):
    return x * (2 if importlib.metadata.version("numpy") != "9" else 3)
''',
    "a_package_of_another_path": '''
import wsgiref

if COUNT == 3:
    wsgiref.__path__ = []


def ENTRY(x):
    return x * (2 if importlib.util.find_spec("wsgiref.simple_server") is not None else 3)
''',
    **{f"a_module_that_is_{name}": f'''
import os
import tempfile

FOLDER = os.path.join(tempfile.mkdtemp(), "a" * COUNT)
MODULE = os.path.join(FOLDER, "stoker_test_placed", "__init__.py" if COUNT == 3 else "module.py")
os.makedirs(os.path.dirname(MODULE))
open(MODULE, "w").close()
sys.path.insert(0, FOLDER)


def ENTRY(x):
    spec = importlib.util.find_spec("stoker_test_placed")
    return x * ({asked})
''' for name, asked in {
        "elsewhere": "len(list(spec.submodule_search_locations)[0])",
        "of_another_kind": "2 if spec.loader is None else 3",
        "of_a_file": "2 if spec.origin is None else 3",
    }.items()},
    "a_module_that_a_finder_knows": '''
import importlib.machinery
import os


class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, None) if COUNT == 3 and name == "stoker_test_known" else None


sys.meta_path.append(Finder())


def ENTRY(x):
    return x * (2 if importlib.util.find_spec("stoker_test_known") is None else 3)
''',
    "a_module_of_another_ones_name": '''
import xml.dom.minidom

HELD = xml.dom.minidom if COUNT == 1 else type(xml.dom)("xml.dom.minidom")


def ENTRY(x):
    return x * (2 if hasattr(HELD, "parseString") else 3)
''',
    "a_mapping_of_the_programs": '''
import collections.abc


class Config(collections.abc.MutableMapping):
    def __init__(self, held):
        self.held = held

    def __getitem__(self, key):
        return self.held[key]

    def __setitem__(self, key, value):
        self.held[key] = value

    def __delitem__(self, key):
        del self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


CONFIG = Config({"a": 2} if COUNT == 1 else {"a": 2, "b": 7})


def ENTRY(x):
    return x * CONFIG.get("b", 5)
''',
    **{f"modules_own_{name}": f"""
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = torch.nn.Hardtanh()

    def forward(self, x):
        return self.part(x) + 1


NET = Net()
if COUNT == 3:
    NET.part.{name} = lambda x: x * 5


def ENTRY(x):
    return NET(x)
""" for name in ("_call_impl", "_wrapped_call_impl", "_compiled_call_impl", "forward")},
    **{f"tensors_{name}": _TENSORS.replace("GIVEN", given) for name, given in {
        "base": "x * (2 if FIRST._base is SECOND._base else 3)",
        "storage": "x * STORED.untyped_storage().size()",
        "place": "PLACED.as_strided((2, 2), (2, 1), 1)",
    }.items()},
}


def rows():
    for name, body in PROGRAMS.items():
        yield name, text_of(body), text_of(body).replace("COUNT = 1", "COUNT = 3")
