"""Which peers run on this machine, with this PyTorch."""

import importlib.metadata
import re
from pathlib import Path


def version_of(package):
    """The installed version, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpuinfo():
    """What /proc/cpuinfo says of the first processor."""
    first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def minor(version):
    """'2.15' of '2.15.0+cpu'."""
    return ".".join(re.findall(r"\d+", version)[:2])


def why_no_zentorch(vendor, torch_version, zentorch_version):
    """One line, or None where zentorch is a peer: it is made for AMD, and for one PyTorch each."""
    if vendor != "AuthenticAMD":
        return f"zentorch is left out: it is for AMD processors, this one is of {vendor or 'nobody known'}."
    if zentorch_version is None:
        return (f"zentorch is left out: it is not installed; pip install 'zentorch=={minor(torch_version)}.*'"
                " where that exists.")
    if minor(zentorch_version) != minor(torch_version):
        return (f"zentorch is left out: {zentorch_version} is for PyTorch {minor(zentorch_version)},"
                f" this is {torch_version}.")
    return None


def absent():
    """{implementation: why}, of those that cannot run here."""
    why = why_no_zentorch(
        cpuinfo().get("vendor_id"), version_of("torch") or "", version_of("zentorch"))
    return {"zentorch": why} if why else {}
