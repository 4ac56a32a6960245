"""Programs whose result depends on what no guard tells: sets in sets and in keys, what runs in place of being traced, what
goes by another name. test_warm_premises.py runs them under another seed of hashes. Each file: name -> body.
"""

from . import classes, hashes, held, made_classes, members, surroundings, usual
from .head import text_of

# Of these, a process in which nothing is changed starts warm.
WARM_UNCHANGED = (
    "methods_in_a_table", "property_of_a_pattern", "forward_hidden", "named_tuple_made", "named_tuple_given",
    "named_tuple_of_another_maker", "named_tuple_made_otherwise", "named_tuple_with_fields_swapped",
    "ordered_members", "ordered_members_patched", "data_class_of_an_operator", "data_class_of_a_member",
    "method_of_a_named_tuple", "method_of_a_named_tuple_patched", "method_of_an_object_in_a_class")

# Programs that start warm, where nothing of them is changed: what they ask of Python's library no guard tells, either.


def rows():
    """(name, the program of the first process, that of the second)"""
    for kind in (hashes, held, members, classes, made_classes, surroundings):
        for name, body in kind.PROGRAMS.items():
            yield name, text_of(body), text_of(body).replace("COUNT = 1", "COUNT = 3")


def usual_rows():
    for name, body in usual.PROGRAMS.items():
        yield name, text_of(body), text_of(body)
