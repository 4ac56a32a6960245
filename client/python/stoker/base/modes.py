"""Modes of torch.compile."""

# What asks for CUDA graphs. Nothing is tuned yet: max-autotune gives what reduce-overhead does.
_REPLAYING = frozenset(("reduce-overhead", "max-autotune"))
# On processors all ask for what Stoker does anyway.
KNOWN = frozenset((None, "default", "max-autotune-no-cudagraphs")) | _REPLAYING


def replays(mode):
    """Does it ask that calls are recorded and run again, where they run on a GPU?"""
    return mode in _REPLAYING
