"""check_private_names.py on small made-up packages."""

import pytest

from check_private_names import complaints

NAMES = '''
from typing import NamedTuple

class Name(NamedTuple):
    path: str
    fields: tuple = None

NAMES = (
    Name("torch._dynamo.guards:Guard.sort_key"), Name("torch._C:_keys"), Name("torch:Tensor._version"),
    Name("torch:ops.aten._softmax"),
    Name("torch.nn:Module", fields=("_buffers", "training")))
MARKS = {"_mark": "of a function"}
'''


def found(path, text):
    return complaints({
        "client/python/stoker/pytorch/names/__init__.py": NAMES,
        "client/python/stoker/pytorch/versions/v2_11.py": (
            "from ..names import Name\nNAMES = (Name('torch._old:f'),)\n"),
        f"client/python/stoker/{path}": text})


@pytest.mark.parametrize("text", [
    "import torch\nx = torch._C._keys(1)\n",
    "from torch._dynamo import guards\n",
    "import torch._dynamo.guards\n",
    "from torch.utils import _device\n",
    "import torch as t\ny = t.nn._hidden.f\n",
    "import torch\nif torch.__version__ > '2':\n    pass\n",
    "def f():\n    import torch._inductor.utils\n",
    "import importlib\nutils = importlib.import_module('torch._inductor.utils')\n",
    "import sys\nutils = sys.modules.get('torch._dynamo')\n",
    "PATH = 'torch._dynamo.guards:Guard'\n",
    "def f(tensor):\n    return tensor._base\n",
    "def f(tensor):\n    tensor._hidden = True\n",
    "def f(tensor):\n    return getattr(tensor, '_hidden', None)\n",
    "import operator\nread = operator.attrgetter('_hidden')\n",
    "def f(value):\n    return object.__getattribute__(value, '_hidden')\n",
    "def f(value):\n    return vars(value)['_hidden']\n",
    "def f(value):\n    return '_hidden' in vars(value)\n",
    "HELD = ('_buffers', 'a')\n",
    "HELD = ['_mark']\n",
    "def f(value):\n    return value.a()._version\n",
])
def test_Complaints_PrivateNameOutsideItsPlace_Named(text):
    complaint, = found("captures/a.py", text)
    assert complaint.startswith("client/python/stoker/captures/a.py:") and "only" in complaint


@pytest.mark.parametrize("text", [
    "import torch\nx = torch._C._keys(1)\n",
    "from torch._dynamo.guards import Guard\nkey = Guard.sort_key\n",
    "from torch._dynamo import guards\nkey = guards.Guard.sort_key.__name__\n",
    "from torch._old import f\n",
    "import torch\nversion = torch.__version__\n",
    "def f(tensor):\n    return tensor._version, getattr(tensor, '_mark'), vars(tensor)['_buffers']\n",
])
def test_Complaints_ListedNameInItsPlace_None(text):
    assert found("pytorch/a.py", text) == []


@pytest.mark.parametrize("text", [
    "import torch\nx = torch._C._others(1)\n",
    "from torch._dynamo.guards import Builder\n",
    "from torch._dynamo import guards\nx = guards.build\n",
    "def f(tensor):\n    return tensor._hidden\n",
    "import importlib\nx = importlib.import_module('torch._inductor')\n",
])
def test_Complaints_UnlistedNameInItsPlace_Named(text):
    complaint, = found("pytorch/a.py", text)
    assert "is not in" in complaint


@pytest.mark.parametrize("text", [
    "import torch\nx = torch.nn.Module.__init__\ntorch.compile(f)\n",
    "import os\nos._exit(0)\ndata = os.environ._data\n",
    "from . import other\nother._cache.clear()\n",
    "class A:\n    def __init__(self):\n        self._a = 1\n\n    def _b(self):\n        return self._a\n\n\n"
    "def f(a):\n    return a._a, a._b()\n",
    "class A:\n    def __init__(self):\n        self.__dict__['_a'] = 1\n\n    def b(self):\n        return self._a\n",
    "def f(record, member):\n    return record._replace(a=1), member._value_\n",
    "NAMES = ('_softmax', '_dict')\n",
    '\"\"\"Not torch._dynamo.guards, but what it says.\"\"\"\n',
])
def test_Complaints_NoPrivateNameOfPyTorch_None(text):
    assert found("captures/a.py", text) == []
