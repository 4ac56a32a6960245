"""All that an optimizer holds in its groups and states: how they are arranged, and what lies in them, in one order. Who records, who
installs and who checks later calls go the same way."""

import collections
from typing import NamedTuple

from ..words.values import NotPortable

PARAMS = "params"  # Of a group: its parameters. All else in it are options.
# Kinds of leaves. Those of the first three are the same objects while a capture is installed.
PARAMETER, KEY, STATE, GRADIENT, OPTION = "parameter", "key", "state", "gradient", "option"
STAYING = (PARAMETER, KEY, STATE)


class Leaves(NamedTuple):
    counts: list  # How many there are of what; None for an option that is no tuple.
    names: list  # Of options and states.
    values: list
    kinds: list  # (kind, how many), in order.


def leaves_of(optimizer):
    """NotPortable for one that holds them in other containers than PyTorch's does, or one container twice."""
    groups, state = optimizer.param_groups, optimizer.state
    if type(groups) is not list or type(state) is not collections.defaultdict or state.default_factory is not dict:
        raise NotPortable("an optimizer that holds its groups or states otherwise")
    counts, names, values, kinds = [len(groups), len(state)], [], [], []
    lists = [group[PARAMS] for group in groups]
    for group, params in zip(groups, lists):
        counts += (len(params), len(group))
        names += group
        values += params
        values += [each.grad for each in params]
        kinds += ((PARAMETER, len(params)), (GRADIENT, len(params)))
        kinds.append((OPTION, _add_options(group, counts, values)))
    states = list(state.values())
    _require_own_containers((groups, dict), (lists, list), (states, dict))
    values += state
    kinds.append((KEY, len(state)))
    counts += map(len, states)
    before = len(values)
    for each in states:
        names += each
        values += each.values()
    kinds.append((STATE, len(values) - before))
    return Leaves(counts, names, values, kinds)


def _add_options(group, counts, values):
    """How many leaves they are: those of a tuple are leaves, too."""
    before = len(values)
    for name, value in group.items():
        if name == PARAMS:
            continue
        if type(value) is tuple:
            counts.append(len(value))
            values += value
        else:
            counts.append(None)
            values.append(value)
    return len(values) - before


def _require_own_containers(*of_types):
    """What is changed through one would be read through another."""
    found = set()
    count = 0
    for containers, kind in of_types:
        if not {*map(type, containers)} <= {kind}:
            raise NotPortable("an optimizer that holds its groups or states otherwise")
        found.update(map(id, containers))
        count += len(containers)
    if len(found) != count:
        raise NotPortable("an optimizer that holds one container twice")


def places_of(leaves, kinds):
    """Of the leaves of these kinds among the values."""
    found, place = [], 0
    for kind, count in leaves.kinds:
        if kind in kinds:
            found += range(place, place + count)
        place += count
    return found


def place_of_option(optimizer, number, wanted):
    """Of an option of the group of this number, which is no tuple, among the values."""
    place = 0
    for position, group in enumerate(optimizer.param_groups):
        place += 2 * len(group[PARAMS])
        for name, value in group.items():
            if position == number and name == wanted:
                return place
            place += 0 if name == PARAMS else len(value) if type(value) is tuple else 1
    raise KeyError(wanted)
