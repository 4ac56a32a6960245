"""What graphs give where a program's own compiled code has a kernel of one of PyTorch's operators: as extension_job.py.

usage: kernel_job.py [FILE [FUNCTION]]    (of compiled code, that is loaded; called before the operator is first compiled)
"""

import ctypes
import json
import sys

import torch
from compared import compared


def of_that_operator(x):
    return x.sin() + 1


def of_another(x):
    return x.cos() + 1


if sys.argv[1:]:
    torch.ops.load_library(sys.argv[1])
found = {}
if sys.argv[2:]:
    found = compared((of_another,))
    getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])()
print(json.dumps(found | compared((of_that_operator, *(() if found else (of_another,))))))
