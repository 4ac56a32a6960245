"""What is said of devices, without a GPU."""

import torch

from stoker.pytorch import devices


def test_assertions_of_a_device_are_as_short_as_it_takes(monkeypatch):
    said = []
    monkeypatch.setattr(torch, "_assert_async", lambda condition, message: said.append(message))
    devices.assert_later(torch.tensor(True), "an index is out of bounds")
    devices.assert_later(torch.tensor(True), "é" * 300)
    assert said == ["an index is out of bounds", "é" * 127]
