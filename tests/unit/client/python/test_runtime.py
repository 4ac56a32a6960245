"""What runs a program: results that are not what was traced."""

import weakref

import pytest
import torch

from stoker.graph.layout import row_major
from stoker.graph.program import Copy, EagerCall, Program, Slot
from stoker.libstoker.library import StokerError
from stoker.runtime import programs
from stoker.runtime.gate import Inside


def program_of(function, result):
    """The function, and a step that was made for its result."""
    steps = [EagerCall(function, (Slot(0),), {}, 1, result), Copy(1, (0, 1), 2, row_major((2, 3)))]
    return Program(3, {}, steps, [Slot(2)], {})


@pytest.mark.parametrize("result", [None, (torch.float32, (2, 3))])
def test_a_result_as_it_was_traced_is_passed_on(result):
    given, = programs.run_of(program_of(torch.neg, result), [])([torch.ones(2, 3)])
    assert torch.equal(given, -torch.ones(2, 3))


def test_a_result_that_pytorch_alone_reads_may_be_another():
    program = Program(
        2, {}, [EagerCall(lambda x: x.double(), (Slot(0),), {}, 1, (torch.float32, (2, 3)))], [Slot(1)], {})
    given, = programs.run_of(program, [])([torch.ones(2, 3)])
    assert given.dtype == torch.float64


@pytest.mark.parametrize("function, found", [
    (lambda x: x[:1], r"\(torch.float32, \(1, 3\)\)"),
    (lambda x: x.double(), r"\(torch.float64, \(2, 3\)\)"),
    (lambda x: x.tolist(), "list")])
def test_another_result_is_refused_with_what_it_is(function, found):
    with pytest.raises(StokerError, match=f"gave {found}, not"):
        programs.run_of(program_of(function, (torch.float32, (2, 3))), [])([torch.ones(2, 3)])


def test_a_graph_whose_operator_returns_another_shape_runs_in_eager():
    program = program_of(lambda x: x[:1], (torch.float32, (2, 3)))
    errors = []

    def in_eager(error):
        errors.append(error)
        return lambda arguments: [arguments[0] * 0]

    run = programs.rescued(programs.run_of(program, []), in_eager, once=pytest.fail)
    assert run([torch.ones(2, 3)])[0].sum() == 0 and run([torch.ones(2, 3)])[0].sum() == 0
    assert len(errors) == 1


def test_a_call_that_its_own_thread_keeps_out_runs_in_eager_once():
    inside = [True]

    def run(arguments):
        if inside.pop():
            raise Inside
        return "compiled"

    run = programs.rescued(run, in_eager=pytest.fail, once=lambda arguments: "eager")
    assert run([]) == "eager"
    inside.append(False)
    assert run([]) == "compiled"


def test_the_same_failure_of_two_requests_has_one_text():
    errors = [StokerError(3, f"Op 'x' is not implemented. (request {name})") for name in ("7f-1-2", "7f-1-3")]
    assert [str(error) for error in errors] == ["unimplemented: Op 'x' is not implemented."] * 2
    assert [error.request_id for error in errors] == ["7f-1-2", "7f-1-3"]
    assert StokerError(5, "no daemon").request_id is None


def letting_go(*functions):
    """A program of one after the other, and what runs it, or eager, which is told what it is given."""
    steps = [EagerCall(function, (Slot(place),), {}, place + 1) for place, function in enumerate(functions)]
    given = []

    def in_eager(arguments):
        given.append(list(arguments))
        return "eager"

    run = programs.run_of(Program(len(steps) + 1, {}, steps, [Slot(len(steps)), None], {}), [], lets_go=True)
    return programs.rescued(run, lambda error: in_eager, in_eager), given


def test_what_is_let_go_of_is_gone_when_nothing_reads_it():
    alive = []

    def second(x):
        alive.append(reference() is not None)
        return x + 1

    run, _ = letting_go(torch.neg, second)
    arguments = [torch.ones(2)]
    reference = weakref.ref(arguments[0])
    result, nothing = run(arguments)
    assert torch.equal(result, torch.zeros(2)) and nothing is None
    assert alive == [False] and arguments == []


@pytest.mark.parametrize("error", [StokerError(4, "no memory"), Inside()])
def test_a_program_starts_over_in_eager_while_its_inputs_are_there(error):
    def fails(_):
        raise error

    run, given = letting_go(fails)
    x = torch.ones(2)
    assert run([x]) == "eager" and given[0][0] is x
    run, given = letting_go(torch.neg, fails)
    with pytest.raises(RuntimeError, match="had let go of what it was given"):
        run([x])
    assert given == []


def test_what_an_operator_raises_is_the_callers_own():
    def fails(_):
        raise ValueError("mine")

    run, given = letting_go(torch.neg, fails)
    with pytest.raises(ValueError, match="mine"):
        run([torch.ones(2)])
    assert given == []
