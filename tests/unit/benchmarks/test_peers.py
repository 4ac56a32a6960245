"""zentorch is a peer on AMD, with the PyTorch that it is made for, and a line says why not elsewhere."""

import pytest

import peers

AMD, INTEL = "AuthenticAMD", "GenuineIntel"


@pytest.mark.parametrize("vendor, torch, zentorch, why", [
    (AMD, "2.14.1+cpu", "2.14.0.1", None),
    (AMD, "2.15.0", "2.14.0.1", "2.14.0.1 is for PyTorch 2.14, this is 2.15.0."),
    (AMD, "2.1.0", "2.14.0.1", "this is 2.1.0."),
    (AMD, "2.15.0", None, "pip install 'zentorch==2.15.*'"),
    (INTEL, "2.14.1", "2.14.0.1", "this one is of GenuineIntel."),
    (None, "2.14.1", "2.14.0.1", "of nobody known."),
])
def test_zentorch_by_processor_and_version(vendor, torch, zentorch, why):
    line = peers.why_no_zentorch(vendor, torch, zentorch)
    if why is None:
        assert line is None
    else:
        assert why in line and "\n" not in line


def test_absent_of_an_installed_zentorch_is_empty(monkeypatch):
    versions = {"torch": "2.14.1", "zentorch": "2.14.0.1"}
    monkeypatch.setattr(peers, "version_of", versions.get)
    monkeypatch.setattr(peers, "cpuinfo", lambda: {"vendor_id": AMD})
    assert peers.absent() == {}
    monkeypatch.setattr(peers, "cpuinfo", lambda: {"vendor_id": INTEL})
    assert set(peers.absent()) == {"zentorch"}


def test_version_of_nothing_is_none():
    assert peers.version_of("no-such-package") is None
