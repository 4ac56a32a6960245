"""A graph of forward and backward that keeps less."""

import torch

from ...graph.devices import device_of
from ...pytorch.operators import look_at_real_tensors
from .. import masks
from ..symbols import with_dims
from ..targets import ATTENTION
from . import equals, remade


def with_less_to_keep(gm, sides):
    """Changes the graph before it is parted: what neither need be given, and what the other makes again as quickly, the one
    would keep for the other. `sides`: a joint_graph.Sides of it."""
    with torch.no_grad(), look_at_real_tensors():  # AOTAutograd's fake mode is on.
        masks.leave_out(gm, masks.known_masks(with_dims(gm), ATTENTION[device_of(gm).type]))
    if not sides.is_of_program:
        equals.merge(gm.graph, sides)
        remade.make_again(gm.graph, sides)
