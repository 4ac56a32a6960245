"""check_private_names.py on small made-up packages."""

import pytest

from check_private_names import complaints

NAMES = '''
from typing import NamedTuple

class Name(NamedTuple):
    path: str

NAMES = (Name("torch._dynamo.guards:Guard.sort_key"), Name("torch._C:_keys"))
'''


def found(path, text):
    return complaints({
        "client/python/stoker/pytorch/names.py": NAMES,
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
])
def test_Complaints_ListedNameInItsPlace_None(text):
    assert found("pytorch/a.py", text) == []


@pytest.mark.parametrize("text", [
    "import torch\nx = torch._C._others(1)\n",
    "from torch._dynamo.guards import Builder\n",
    "from torch._dynamo import guards\nx = guards.build\n",
])
def test_Complaints_UnlistedNameInItsPlace_Named(text):
    complaint, = found("pytorch/a.py", text)
    assert "is not in" in complaint


def test_Complaints_PublicNames_None():
    assert found("captures/a.py", "import torch\nx = torch.nn.Module.__init__\ntorch.compile(f)\n") == []
