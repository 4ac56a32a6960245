"""Loops over elements whose count of steps data decides: one step of all elements after the other, until none goes on."""

from math import prod

from ...graph.text import GraphText
from ...graph.values import numbers


def repeated(g, carried, stays, step):
    """The values `carried` after the last step. step(text, carried, stays) -> (which elements go on, the next carried values);
    it is taken at least once, and as long as any element goes on: those that do not, it has to leave as they are. All
    values are of one shape, which becomes one of numbers."""
    shape = numbers(carried[0].shape)
    if not prod(shape):
        return list(carried)
    given = [g.constant(True, "bool"), *(g.broadcast(x, shape) for x in (*carried, *stays))]
    asked, stepped = GraphText("region"), GraphText("region")
    goes_on, *_ = [asked.input(x.dtype, x.shape) for x in given]
    _, *inner = [stepped.input(x.dtype, x.shape) for x in given]
    count = len(carried)
    going, following = step(stepped, inner[:count], inner[count:])
    returned = [stepped.reduce("or", going, range(len(shape))), *following]
    _, nodes = stepped.live(returned)
    every = range(len(given))
    body = stepped.text(every, nodes, returned).strip()
    regions = f" {{condition={asked.text(every, [], [goes_on]).strip()}, body={body}}}"
    return list(g.nodes("while", tuple(given), regions, tuple(x.type for x in given[:1 + count]))[1:])
