"""What runs segments on a device, and whole programs again."""

from .executable import Executable
from .profiling import collectors


def executable_on(device, handle, segment, on_bind, verifies=False):
    if device.type == "cpu":
        return Executable(handle, segment, on_bind, verifies)
    from .cuda_executable import CudaExecutable

    return CudaExecutable(handle, device, verifies)


def recorder_on(device, replays):
    """What programs.run_of takes. `replays`: is it asked for?"""
    if not replays or device.type == "cpu":
        return None
    from .replays.cuda_recorder import Recorder  # Not before it is needed: a start does not wait for it.

    return Recorder(device, lambda: bool(collectors))
