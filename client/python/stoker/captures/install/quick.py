"""The guards of a capture in the process that recorded it: what Dynamo compiled runs there, under guards that cost less
than Dynamo's own.
"""

from ...base.log import logger, warn_of_bug
from ...base.signals import let_through
from ..check.program import GuardProgram
from ..trust import features

NONE = None, None


def quick_check(record, local_values, global_values):
    """(f(locals) -> bool for the frame that has just been recorded, with the values that it was entered with; None where
    Dynamo's guards have to do; f() -> whether it stands in their place). It is false until it is known that captures are used.
    Never raises."""
    try:
        if features.first_off(record) is not None:
            return NONE
        program = GuardProgram(record, global_values)
        failure = program.first_failure_where_recorded(local_values)
        if failure is None:
            return _once_decided(program.bind(), record["optimizers"] is not None)
        logger.info("captures: Dynamo's guards stay in use: %s", failure)
    except Exception as error:
        let_through(error)
        warn_of_bug("Dynamo's guards stay in use", error)
    return NONE


def _once_decided(check, has_optimizers):
    if features.is_trusted():
        return check, lambda: has_optimizers
    decided = []
    features.when_decided(lambda: decided.append(True))
    return lambda local_values: bool(decided) and check(local_values), lambda: has_optimizers and bool(decided)
