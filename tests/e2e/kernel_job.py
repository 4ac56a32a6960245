"""What graphs give where a program's own compiled code has a kernel of one of PyTorch's operators: as extension_job.py.

usage: kernel_job.py [FILE]    (of compiled code, that is loaded)
"""

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
print(json.dumps(compared((of_that_operator, of_another))))
