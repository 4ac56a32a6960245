"""Optimizers in words, the same objects in later calls, first states made and taken back."""

import gc
import weakref

import pytest
import torch
from stoker.captures.optimizers import holding
from stoker.captures.optimizers.bound import Bound
from stoker.captures.optimizers.described import Described
from stoker.captures.optimizers.leaves import leaves_of, place_of_option
from stoker.captures.optimizers.memory import Memory
from stoker.captures.record import record
from stoker.captures.record.sources import SourcePaths
from stoker.captures.words.identity import Describer
from stoker.captures.words.values import NotPortable
from stoker.pytorch.optimizers.states import FirstStates, is_pytorchs
from torch._dynamo.source import GlobalSource
from torch.optim.optimizer import register_optimizer_step_pre_hook


def made(cls=torch.optim.Adam, count=3, steps=1, **options):
    parameters = [torch.nn.Parameter(torch.linspace(0, 1 + number, 4)) for number in range(count)]
    optimizer = cls(parameters, **{"lr": 0.1} | options)
    for each in parameters:
        each.grad = torch.linspace(1, 2, 4)
    for _ in range(steps):
        optimizer.step()
    return optimizer, parameters


def described(*optimizers, others=()):
    return Described(list(optimizers), list(others), [frozenset()] * len(optimizers), Describer())


def words(*optimizers, **keywords):
    return described(*optimizers, **keywords).words


def bound(*optimizers, others=()):
    return Bound(list(optimizers), described(*optimizers, others=others))


def test_equal_optimizers_have_equal_words():
    assert words(made()[0]) == words(made()[0])
    assert words(made()[0], made()[0]) == words(made()[0], made()[0])


def alias_gradients(optimizer, parameters):
    parameters[1].grad = parameters[0].grad


def alias_states(optimizer, parameters):
    optimizer.state[parameters[1]]["exp_avg"] = optimizer.state[parameters[0]]["exp_avg"]


def alias_states_of_one(optimizer, parameters):
    optimizer.state[parameters[0]]["exp_avg_sq"] = optimizer.state[parameters[0]]["exp_avg"]


def state_becomes_gradient(optimizer, parameters):
    parameters[2].grad = optimizer.state[parameters[0]]["exp_avg"]


def parameter_becomes_gradient(optimizer, parameters):
    parameters[2].grad = torch.Tensor.detach(parameters[1]).clone()
    optimizer.state[parameters[0]]["exp_avg"] = parameters[2].grad


def no_gradient(optimizer, parameters):
    parameters[1].grad = None


def other_option(optimizer, parameters):
    optimizer.param_groups[0]["lr"] = 0.2


def other_type_of_option(optimizer, parameters):
    optimizer.param_groups[0]["lr"] = True


def option_in_a_tuple(optimizer, parameters):
    optimizer.param_groups[0]["betas"] = 0.9, 0.99


def new_option(optimizer, parameters):
    optimizer.param_groups[0]["more"] = None


def another_order(optimizer, parameters):
    state = optimizer.state.pop(parameters[0])
    optimizer.state[parameters[0]] = state


def another_order_in_a_state(optimizer, parameters):
    state = optimizer.state[parameters[0]]
    state["step"] = state.pop("step")


def a_state_less(optimizer, parameters):
    del optimizer.state[parameters[2]]["exp_avg"]


def a_parameter_less(optimizer, parameters):
    optimizer.param_groups[0]["params"].pop()


def a_group_more(optimizer, parameters):
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})


def other_size_of_gradient(optimizer, parameters):
    parameters[0].data, parameters[0].grad = torch.ones(5), None
    parameters[0].grad = torch.ones(5)


def other_type_of_state(optimizer, parameters):
    optimizer.state[parameters[0]]["exp_avg"] = optimizer.state[parameters[0]]["exp_avg"].double()


def strides_of_gradient(optimizer, parameters):
    parameters[0].grad = torch.linspace(1, 2, 8)[::2]


def requires_grad_no_more(optimizer, parameters):
    parameters[0].requires_grad_(False)


CHANGES = [
    alias_gradients, alias_states, alias_states_of_one, state_becomes_gradient, parameter_becomes_gradient, no_gradient,
    other_option, other_type_of_option, option_in_a_tuple, new_option, another_order, another_order_in_a_state, a_state_less,
    a_parameter_less, a_group_more, other_size_of_gradient, other_type_of_state, strides_of_gradient, requires_grad_no_more]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_differs_has_other_words_and_holds_no_longer(change):
    expected = words(made()[0])
    optimizer, parameters = made()
    check = bound(optimizer)
    assert check.hold([optimizer], []) and check.hold([optimizer], [])
    change(optimizer, parameters)
    assert words(optimizer) != expected
    assert not check.hold([optimizer], [])


@pytest.mark.parametrize("change", [alias_gradients, alias_states, alias_states_of_one, state_becomes_gradient])
def test_aliases_that_were_recorded_are_asked_for(change):
    optimizer, parameters = made()
    change(optimizer, parameters)
    check = bound(optimizer)
    assert check.hold([optimizer], [])
    for each in parameters:
        each.grad = each.grad.clone()
    for state in optimizer.state.values():
        state.update({name: value.clone() for name, value in state.items()})
    assert words(optimizer) == words(made()[0])
    assert not check.hold([optimizer], [])


def test_gradients_may_be_other_tensors():
    optimizer, parameters = made()
    check = bound(optimizer)
    for _ in range(3):
        for each in parameters:
            each.grad = torch.linspace(2, 3, 4)
        assert check.hold([optimizer], [])


def test_states_and_parameters_may_not():
    optimizer, parameters = made()
    check = bound(optimizer)
    state = optimizer.state[parameters[0]]
    kept, state["exp_avg"] = state["exp_avg"], state["exp_avg"].clone()
    assert words(optimizer) == words(made()[0])
    assert not check.hold([optimizer], [])
    state["exp_avg"] = kept
    assert check.hold([optimizer], [])


def test_another_optimizer_does_not_hold():
    first, second = made()[0], made()[0]
    check = bound(first)
    assert not check.hold([second], [])
    second.param_groups, second.state = first.param_groups, first.state
    assert check.hold([first], []) and not check.hold([second], [])


def test_aliases_across_optimizers_and_with_what_is_reached_otherwise():
    first, parameters = made()
    second, others = made()
    apart = words(first, second, others=[torch.ones(3)])
    assert words(first, second, others=[parameters[0]]) != apart
    check = bound(first, second, others=[parameters[0]])
    assert check.hold([first, second], [parameters[0]])
    assert not check.hold([first, second], [parameters[1]])
    others[0].grad = parameters[0].grad
    assert not check.hold([first, second], [parameters[0]])


def test_nothing_is_kept_alive():
    optimizer, parameters = made()
    check = bound(optimizer)
    assert check.hold([optimizer], [])
    watched = [weakref.ref(optimizer), *map(weakref.ref, parameters)]
    del optimizer, parameters
    gc.collect()
    assert [each() for each in watched] == [None] * 4
    assert not check.hold(made()[:1], [])


class Own(torch.optim.SGD):
    """Of a program's."""


def with_hooks(optimizer, parameters):
    optimizer.register_step_pre_hook(lambda *_: None)


def with_a_method_of_its_own(optimizer, parameters):
    optimizer._init_group = lambda *_: None


def with_one_dictionary_twice(optimizer, parameters):
    optimizer.state[parameters[0]] = optimizer.state[parameters[1]]


def with_shared_memory(optimizer, parameters):
    parameters[0].data = parameters[1].data[:]


def with_a_list(optimizer, parameters):
    optimizer.param_groups[0]["lr"] = [0.1]


def with_a_key_that_is_no_text(optimizer, parameters):
    optimizer.state[parameters[0]][0] = None


def with_a_gradient_that_is_sparse(optimizer, parameters):
    parameters[0].grad = torch.linspace(1, 2, 4).to_sparse()


@pytest.mark.parametrize("change", [
    with_hooks, with_a_method_of_its_own, with_one_dictionary_twice, with_shared_memory, with_a_list,
    with_a_key_that_is_no_text, with_a_gradient_that_is_sparse], ids=lambda change: change.__name__)
def test_what_has_no_words(change):
    optimizer, parameters = made()
    change(optimizer, parameters)
    with pytest.raises(NotPortable):
        words(optimizer)


def test_hooks_of_all_optimizers_count():
    optimizer, _ = made()
    check = bound(optimizer)
    hook = register_optimizer_step_pre_hook(lambda *_: None)
    try:
        assert not check.hold([optimizer], [])
        with pytest.raises(NotPortable):
            words(optimizer)
    finally:
        hook.remove()
    assert check.hold([optimizer], [])


def test_classes_as_pytorch_has_them(monkeypatch):
    assert is_pytorchs(made()[0])
    assert not is_pytorchs(made(Own)[0])
    monkeypatch.setattr(torch.optim.Adam, "_init_group", lambda *_: None)
    assert not is_pytorchs(made(torch.optim.Adam, steps=0)[0])


OPTIMIZERS = [
    torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adamax,
    torch.optim.ASGD, torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Rprop]


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("steps", [0, 1])
def test_first_states_are_those_of_a_step_and_are_taken_back(cls, steps):
    optimizer, parameters = made(cls, steps=steps, **{"momentum": 0.9} if cls is torch.optim.SGD else {})
    parameters[1].grad = None
    before = {id(key): (id(state), {name: id(value) for name, value in state.items()}) for key, state in optimizer.state.items()}
    states = FirstStates([optimizer], keeps_capturable=False)
    states.make()
    made_words = words(optimizer)
    states.undo()
    assert before == {
        id(key): (id(state), {name: id(value) for name, value in state.items()}) for key, state in optimizer.state.items()}
    FirstStates([optimizer], keeps_capturable=False).make()
    assert words(optimizer) == made_words
    assert all(each in optimizer.state for each in parameters if each.grad is not None)


def test_an_option_by_its_name():
    parameters = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]
    optimizer = torch.optim.Adam([{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.5}], lr=0.25)
    values = leaves_of(optimizer).values
    assert values[place_of_option(optimizer, 0, "lr")] == 0.25 and values[place_of_option(optimizer, 1, "lr")] == 0.5
    assert values[place_of_option(optimizer, 1, "eps")] == 1e-8


def test_what_dynamo_keeps_no_longer_has_no_form():
    """It takes away what it installed for an optimizer, once that has died: a recording may come later."""
    name = "__optimizer_140104363770832_140104056740000_c19"
    paths = SourcePaths({}, frozenset((name,)))
    with pytest.raises(NotPortable):
        paths.of(GlobalSource(name))
    with pytest.raises(NotPortable):
        paths.module_under(name)
    scope = {"__builtins__": {}}
    exec(f"def step():\n return {name}", scope)
    made_globals = record._Globals(scope, frozenset((name,)), frozenset(), "__stoker_", None)
    with pytest.raises(NotPortable):
        made_globals.collect(scope["step"].__code__)


@pytest.mark.parametrize("begin, end, is_apart", [
    (0, 4, False), (3, 6, False), (4, 8, True), (7, 9, False), (9, 10, False), (9, 11, False), (10, 12, True)])
def test_memory(begin, end, is_apart):
    whole = torch.zeros(20)
    staying = [whole[:4], whole[8:9], whole[9:10], torch.zeros(0)]
    elsewhere, moving = whole[16:16 + end - begin], whole[begin:end]
    memory = Memory([*staying, elsewhere], {0, 1, 2, 3})
    for _ in range(2):
        assert memory.is_apart([*staying, elsewhere])
        assert memory.is_apart([*staying, moving]) == is_apart


def test_memory_of_what_moves_and_of_what_stays_elsewhere():
    whole = torch.zeros(20)
    staying, moving = [whole[:4]], [whole[4:8], whole[8:12]]
    memory = Memory([*staying, *moving], {0})
    assert memory.is_apart([*staying, *moving]) and memory.is_apart([*staying, *reversed(moving)])
    assert not memory.is_apart([*staying, whole[4:8], whole[7:11]])
    assert not memory.is_apart([whole[6:10], *moving])
    assert memory.is_apart([whole[12:16], *moving]) and memory.is_apart([*staying, *moving])


def test_what_one_death_dropped_counts_for_no_other_optimizer():
    first, second = ([torch.nn.Parameter(torch.ones(2))] for _ in range(2))
    lasting, scope = torch.optim.SGD(first, lr=0.1), {}
    for number in range(2 * holding.MOST):
        dying = torch.optim.SGD(second, lr=0.1)
        assert holding.has_room((lasting, dying))
        scope[f"graph_{number}"] = None
        holding.Installation((lasting, dying), [*first, *second], scope, (f"graph_{number}",))
        del dying
    gc.collect()
    assert scope == {}
    installed = [holding.Installation((lasting,), first, scope, ()) for _ in range(holding.MOST)]
    assert not holding.has_room((lasting,))
    installed[0].drop()
    assert holding.has_room((lasting,))
