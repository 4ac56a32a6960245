"""What the default device is belongs to tensors that a program makes, and to none that a kernel writes."""

import pytest
import torch


def run(x):
    return (x.t() + 1).softmax(-1), x.sum(), torch.ops.aten.sort(x)[0]


@pytest.mark.parametrize("set_after", (False, True))
def test_outputs_are_where_the_inputs_are(set_after):
    torch._dynamo.reset()
    x = torch.linspace(-1, 1, 15).reshape(3, 5)
    compiled, expected = torch.compile(run, backend="stoker"), run(x)
    if set_after:
        compiled(x)
    with torch.device("meta"):
        found = compiled(x)
    torch.testing.assert_close(found, expected)
