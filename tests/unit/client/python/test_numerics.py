"""What products of float32 may lose is the setting of the device that they run on."""

import pytest
import torch

from stoker.pytorch import state

CPU, GPU = torch.device("cpu"), torch.device("cuda", 1)


@pytest.fixture(autouse=True)
def settings():
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("precision, on_cpu, on_gpu", [
    ("highest", "highest", "highest"), ("high", "high", "high"), ("medium", "medium", "high")])
def test_one_setting_is_for_all_devices(precision, on_cpu, on_gpu):
    torch.set_float32_matmul_precision(precision)
    assert (state.numerics(CPU), state.numerics(GPU)) == (on_cpu, on_gpu)


def test_each_kind_of_device_has_one_of_its_own():
    torch.set_float32_matmul_precision("high")
    torch.backends.cuda.matmul.allow_tf32 = False
    assert (state.numerics(CPU), state.numerics(GPU)) == ("high", "highest")
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = True
    assert (state.numerics(CPU), state.numerics(GPU)) == ("highest", "high")
