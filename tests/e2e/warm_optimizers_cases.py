"""Programs with optimizers. A program is a function of `compile`, and gives what it leaves: parameters, states, results."""

import functools
import random

import torch

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "sgd_nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "sgd_dampened": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    "sgd_foreach": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "foreach": True}),
    "sgd_fused": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "fused": True}),
    "adam": (torch.optim.Adam, {"lr": 0.01}),
    "adam_amsgrad": (torch.optim.Adam, {"lr": 0.01, "amsgrad": True, "weight_decay": 0.01}),
    "adam_foreach": (torch.optim.Adam, {"lr": 0.01, "foreach": True}),
    "adam_fused": (torch.optim.Adam, {"lr": 0.01, "fused": True}),
    "adam_maximize": (torch.optim.Adam, {"lr": 0.01, "maximize": True}),
    "adam_lr_tensor": (torch.optim.Adam, {"lr": 0.01}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01}),
    "adamw_betas": (torch.optim.AdamW, {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    "adadelta": (torch.optim.Adadelta, {}),
    "adafactor": (torch.optim.Adafactor, {}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1}),
    "adamax": (torch.optim.Adamax, {"lr": 0.1}),
    "asgd": (torch.optim.ASGD, {"lr": 0.1}),
    "nadam": (torch.optim.NAdam, {"lr": 0.01}),
    "radam": (torch.optim.RAdam, {"lr": 0.01}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.01, "momentum": 0.9}),
    "rmsprop_centered": (torch.optim.RMSprop, {"lr": 0.01, "centered": True}),
    "rprop": (torch.optim.Rprop, {"lr": 0.01}),
}
if hasattr(torch.optim, "Muon"):
    OPTIMIZERS["muon"] = torch.optim.Muon, {"lr": 0.01}


def model_of(bias=True, width=4):
    return torch.nn.Sequential(torch.nn.Linear(3, width, bias=bias), torch.nn.Tanh(), torch.nn.Linear(width, 2, bias=bias))


def optimizer_of(name, parameters, **options):
    cls, known = OPTIMIZERS[name]
    options = known | options
    if name == "adam_lr_tensor":
        options["lr"] = torch.tensor(0.01)
    return cls(parameters, **options)


def backward(model, seed=0):
    x = torch.linspace(-1, 1, 6).reshape(2, 3) + 0.1 * seed
    model(x).square().sum().backward()


def leaves_of(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().clone()]
    if isinstance(value, torch.nn.Module):
        return leaves_of([*value.parameters()]) + leaves_of([each.grad for each in value.parameters()])
    if isinstance(value, torch.optim.Optimizer):
        return leaves_of([
            {name: each for name, each in group.items() if name != "params"} for group in value.param_groups]) + leaves_of(
            list(value.state.values()))
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in (key, *leaves_of(item))]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves_of(item)]
    return [repr(value)]


def steps_of(name, compile):
    """`step` itself is compiled."""
    model = model_of(bias=name != "muon")
    optimizer = optimizer_of(name, model.parameters())
    step = compile(optimizer.step)
    for number in range(4):
        optimizer.zero_grad()
        backward(model, number)
        step()
    return model, optimizer


def in_a_function(name, compile):
    model = model_of(bias=name != "muon")
    optimizer = optimizer_of(name, model.parameters())

    def step():
        optimizer.step()
        optimizer.zero_grad()

    step = compile(step)
    for number in range(4):
        backward(model, number)
        step()
    return model, optimizer


def whole_step(name, compile):
    model = model_of(bias=name != "muon")
    optimizer = optimizer_of(name, model.parameters())

    def train(x):
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return loss

    train = compile(train)
    return model, optimizer, [train(torch.linspace(-1, 1, 6).reshape(2, 3) + 0.1 * number) for number in range(4)]


def alternately(name, compile):
    """Three optimizers of one configuration live at once."""
    models = [model_of() for _ in range(3)]
    optimizers = [optimizer_of(name, model.parameters()) for model in models]
    steps = [compile(optimizer.step) for optimizer in optimizers]
    for number in range(9):
        which = (0, 1, 2, 1, 0, 0, 2, 2, 1)[number]
        optimizers[which].zero_grad()
        backward(models[which], number)
        steps[which]()
    return models, optimizers


def alternately_in_a_function(name, compile):
    models = [model_of() for _ in range(3)]
    optimizers = [optimizer_of(name, model.parameters()) for model in models]

    @compile
    def step(optimizer):
        optimizer.step()

    for number in range(9):
        which = (0, 1, 2, 1, 0, 0, 2, 2, 1)[number]
        optimizers[which].zero_grad()
        backward(models[which], number)
        step(optimizers[which])
    return models, optimizers


def one_after_the_other(name, compile):
    """Models and optimizers come and go."""
    left = []
    for number in range(12):
        model = model_of()
        optimizer = optimizer_of(name, model.parameters())
        step = compile(optimizer.step)
        for again in range(2):
            optimizer.zero_grad()
            backward(model, number + again)
            step()
        left += leaves_of([model, optimizer])
        del model, optimizer, step
    return left


def stepped(model, optimizer, step, scheduler):
    for number in range(5):
        optimizer.zero_grad()
        backward(model, number)
        step()
        scheduler.step()
    return model, optimizer


def scheduled(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    step = compile(optimizer.step)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    return stepped(model, optimizer, step, scheduler)


def scheduled_before(name, compile):
    """What is compiled is what the scheduler has put around the step."""
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = compile(optimizer.step)
    return stepped(model, optimizer, step, scheduler)


def scheduled_in_a_function(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    @compile
    def step():
        optimizer.step()

    return stepped(model, optimizer, step, scheduler)


def differentiable(name, compile):
    """Of tensors that are computed."""
    parameters = [torch.linspace(0, 1 + number, 4).requires_grad_().clone() for number in range(2)]
    optimizer = optimizer_of(name, parameters, differentiable=True)
    step = compile(optimizer.step)
    for number in range(2):
        for each in parameters:
            each.grad = torch.linspace(1, 2 + number, 4)
        step()
    return parameters, optimizer


def loaded(name, compile):
    """States come from a dictionary."""
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    for number in range(3):
        optimizer.zero_grad()
        backward(model, number)
        optimizer.step()
    other = model_of()
    other.load_state_dict(model.state_dict())
    its = optimizer_of(name, other.parameters())
    its.load_state_dict(optimizer.state_dict())
    step = compile(its.step)
    for number in range(3):
        its.zero_grad()
        backward(other, number)
        step()
    return other, its


def loaded_later(name, compile):
    """Between two compiled steps."""
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    step = compile(optimizer.step)
    for number in range(4):
        optimizer.zero_grad()
        backward(model, number)
        step()
        if number == 1:
            optimizer.load_state_dict(optimizer.state_dict())
    return model, optimizer


def groups_of(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, [
        {"params": [model[0].weight, model[2].weight]}, {"params": [model[0].bias, model[2].bias], "lr": 0.05}])
    step = compile(optimizer.step)
    for number in range(3):
        optimizer.zero_grad()
        backward(model, number)
        step()
    return model, optimizer


def group_added(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model[0].parameters())
    step = compile(optimizer.step)
    for number in range(4):
        optimizer.zero_grad()
        backward(model, number)
        if number == 2:
            optimizer.add_param_group({"params": list(model[2].parameters())})
        step()
    return model, optimizer


def without_gradients(name, compile):
    """Another parameter has none at each step."""
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    step = compile(optimizer.step)
    parameters = list(model.parameters())
    for number in range(6):
        optimizer.zero_grad()
        backward(model, number)
        if number % 3:
            parameters[number % 3].grad = None
        step()
    return model, optimizer


def kept_gradients(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    step = compile(optimizer.step)
    for number in range(4):
        optimizer.zero_grad(set_to_none=number == 2)
        backward(model, number)
        step()
    return model, optimizer


def changed_options(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    step = compile(optimizer.step)
    for number in range(6):
        optimizer.zero_grad()
        backward(model, number)
        optimizer.param_groups[0]["weight_decay"] = 0.1 * (number // 2)
        if number > 3:
            optimizer.param_groups[0]["maximize"] = True
        step()
    return model, optimizer


def several_in_a_function(name, compile):
    models = [model_of(), model_of(width=5)]
    first, second = optimizer_of(name, models[0].parameters()), optimizer_of("sgd_momentum", models[1].parameters())

    @compile
    def step():
        first.step()
        second.step()

    for number in range(4):
        for model in models:
            model.zero_grad()
            backward(model, number)
        step()
    return models, first, second


def hooked(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(model[0].bias.sum().item() > 0))
    step = compile(optimizer.step)
    for number in range(3):
        optimizer.zero_grad()
        backward(model, number)
        step()
    return model, optimizer, calls


def hooked_later(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())
    calls = []
    step = compile(optimizer.step)
    for number in range(4):
        optimizer.zero_grad()
        backward(model, number)
        if number == 2:
            optimizer.register_step_pre_hook(lambda *_: calls.append(number))
        step()
    return model, optimizer


def with_a_closure(name, compile):
    model = model_of()
    optimizer = optimizer_of(name, model.parameters())

    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().sum()
        loss.backward()
        return loss

    step = compile(lambda: optimizer.step(closure))
    return model, optimizer, [step() for _ in range(3)]


class Halving(torch.optim.SGD):
    """An optimizer of the program's own."""

    def _init_group(self, group, params, grads, momentum_buffer_list):
        for each in group["params"]:
            self.state[each].setdefault("seen", torch.zeros(()))
        return super()._init_group(group, params, grads, momentum_buffer_list)


def own_class(name, compile):
    model = model_of()
    optimizer = Halving(model.parameters(), lr=0.1, momentum=0.9)
    step = compile(optimizer.step)
    for number in range(3):
        optimizer.zero_grad()
        backward(model, number)
        step()
    return model, optimizer


def one_gradient(name, compile, is_one=True):
    """Two parameters have one tensor for their gradient, or two that are equal."""
    first, second = (torch.nn.Parameter(torch.linspace(0, number, 4)) for number in (1, 2))
    optimizer = optimizer_of(name, [first, second])
    step = compile(optimizer.step)
    for number in range(3):
        first.grad = torch.linspace(1, 2 + number, 4)
        second.grad = first.grad if is_one else first.grad.clone()
        step()
    return [first, second, first.grad, second.grad], optimizer


def one_state(name, compile, is_one=True):
    """A buffer of two parameters is one tensor."""
    first, second = (torch.nn.Parameter(torch.linspace(0, number, 4)) for number in (1, 2))
    optimizer = optimizer_of(name, [first, second])
    for each in (first, second):
        each.grad = torch.linspace(1, 2, 4)
    optimizer.step()
    states = optimizer.state
    key = "momentum_buffer" if "momentum_buffer" in states[first] else "exp_avg"
    states[second][key] = states[first][key] if is_one else states[first][key].clone()
    step = compile(optimizer.step)
    for number in range(3):
        first.grad, second.grad = torch.linspace(1, 2 + number, 4), torch.linspace(2, 1, 4)
        step()
    return [first, second], optimizer


def two_states_of_one(name, compile, is_one=True):
    """Two states of a parameter are one tensor."""
    first = torch.nn.Parameter(torch.linspace(0, 1, 4))
    optimizer = optimizer_of("adam", [first])
    first.grad = torch.linspace(1, 2, 4)
    optimizer.step()
    state = optimizer.state[first]
    state["exp_avg_sq"] = state["exp_avg"] if is_one else state["exp_avg"].clone()
    step = compile(optimizer.step)
    for number in range(3):
        first.grad = torch.linspace(1, 2 + number, 4)
        step()
    return [first], optimizer


def state_is_gradient(name, compile, is_one=True):
    first = torch.nn.Parameter(torch.linspace(0, 1, 4))
    optimizer = optimizer_of("sgd_momentum", [first])
    first.grad = torch.linspace(1, 2, 4)
    optimizer.step()
    buffer = optimizer.state[first]["momentum_buffer"]
    step = compile(optimizer.step)
    for _ in range(3):
        first.grad = buffer if is_one else buffer.clone()
        step()
    return [first], optimizer


def shared_memory(name, compile, is_one=True):
    """Parameters are views of one tensor, or not."""
    whole = torch.linspace(0, 1, 8)
    first, second = (torch.nn.Parameter(part if is_one else part.clone()) for part in (whole[:5], whole[3:]))
    optimizer = optimizer_of(name, [first, second])
    step = compile(optimizer.step)
    for number in range(3):
        first.grad, second.grad = torch.linspace(1, 2 + number, 5), torch.linspace(2, 1, 5)
        step()
    return [first, second], optimizer


def one_parameter_in_two(name, compile, is_one=True):
    """Two optimizers have one parameter."""
    first, other = (torch.nn.Parameter(torch.linspace(0, 1, 4)) for _ in range(2))
    optimizers = [optimizer_of(name, [first]), optimizer_of(name, [first if is_one else other])]

    @compile
    def step():
        optimizers[0].step()
        optimizers[1].step()

    for number in range(3):
        first.grad = torch.linspace(1, 2 + number, 4)
        other.grad = torch.linspace(1, 2 + number, 4)
        step()
    return [first, other], optimizers


def alias_later(name, compile):
    """What were two gradients becomes one in the midst, and two again."""
    first, second = (torch.nn.Parameter(torch.linspace(0, number, 4)) for number in (1, 2))
    optimizer = optimizer_of(name, [first, second])
    step = compile(optimizer.step)
    for number in range(8):
        first.grad = torch.linspace(1, 2 + number, 4)
        second.grad = first.grad if number in (3, 4, 6) else torch.linspace(2, 1, 4)
        step()
    return [first, second], optimizer


def averaged(name, compile):
    """The frame reaches parameters in another way, too."""
    model, average = model_of(), model_of()
    optimizer = optimizer_of(name, model.parameters())

    @compile
    def step(parameters, averages):
        with torch.no_grad():
            for each, other in zip(parameters, averages):
                other.mul_(0.9).add_(each, alpha=0.1)
        optimizer.step()

    for number in range(4):
        optimizer.zero_grad()
        backward(model, number)
        step(list(model.parameters()), list(average.parameters()))
    return model, average, optimizer


def data_changed(name, compile):
    """A parameter's memory becomes another one, of another type or size."""
    first, second = (torch.nn.Parameter(torch.linspace(0, number, 4)) for number in (1, 2))
    optimizer = optimizer_of(name, [first, second])
    step = compile(optimizer.step)
    for number in range(5):
        first.grad, second.grad = torch.linspace(1, 2 + number, 4), torch.linspace(2, 1, 4)
        if number == 3:
            first.data = torch.linspace(3, 4, 4)
        step()
    return [first, second], optimizer


ALIASES = {
    "one_gradient": one_gradient, "one_state": one_state, "two_states_of_one": two_states_of_one,
    "state_is_gradient": state_is_gradient, "shared_memory": shared_memory, "one_parameter_in_two": one_parameter_in_two}
WAYS = {
    "steps": steps_of, "function": in_a_function, "whole": whole_step, "alternately": alternately,
    "alternately_in_a_function": alternately_in_a_function, "one_after_the_other": one_after_the_other,
    "scheduled": scheduled, "scheduled_before": scheduled_before, "scheduled_in_a_function": scheduled_in_a_function,
    "differentiable": differentiable,
    "loaded": loaded, "loaded_later": loaded_later, "groups": groups_of, "group_added": group_added,
    "without_gradients": without_gradients, "kept_gradients": kept_gradients, "changed_options": changed_options,
    "several": several_in_a_function, "hooked": hooked, "hooked_later": hooked_later, "closure": with_a_closure,
    "own_class": own_class, "alias_later": alias_later, "averaged": averaged, "data_changed": data_changed}


def program(name):
    """Of "way:optimizer", "alias:optimizer:one", "alias:optimizer:two", or "fuzz:seed"."""
    way, which, *how = name.split(":")
    if way == "fuzz":
        return functools.partial(fuzzed, int(which))
    if way in ALIASES:
        return functools.partial(ALIASES[way], which, is_one=how == ["one"])
    return functools.partial(WAYS[way], which)


def fuzzed(seed, compile):
    """A drawn program: optimizers of drawn options, and what is done with them in drawn order."""
    draw = random.Random(seed)
    name = draw.choice([each for each in OPTIMIZERS if each not in ("muon", "adafactor")])
    shapes = [draw.choice(((4,), (2, 3), (1,), (3, 1), ())) for _ in range(draw.randint(1, 4))]
    count = draw.randint(1, 2)
    sets = [[torch.nn.Parameter(torch.linspace(0, 1, max(1, torch.Size(shape).numel())).reshape(shape)) for shape in shapes]
            for _ in range(count)]
    optimizers = [optimizer_of(name, [{"params": each[:1]}, {"params": each[1:]}] if len(each) > 1 and seed % 2 else each)
                  for each in sets]
    together = draw.random() < 0.3

    @compile
    def step_all():
        for optimizer in optimizers:
            optimizer.step()

    steps = [step_all if together else compile(optimizer.step) for optimizer in optimizers]
    for number in range(draw.randint(3, 6)):
        which = draw.randrange(count)
        parameters, optimizer = sets[which], optimizers[which]
        for each in [each for its in sets for each in its] if together else parameters:
            each.grad = torch.full_like(each, 0.5 + number) * torch.linspace(1, 2, max(1, each.numel())).reshape(each.shape)
        _change(draw, name, optimizer, parameters, sets)
        steps[which]()
    return sets, optimizers


def _change(draw, name, optimizer, parameters, sets):
    match draw.choice(("none", "none", "gradient", "one", "one of another", "state", "load", "rate")):
        case "gradient":
            draw.choice(parameters).grad = None
        case "one":
            alike = [each for each in parameters if each.shape == parameters[0].shape]
            alike[-1].grad = parameters[0].grad
        case "one of another":
            sets[-1][0].grad = sets[0][0].grad
        case "state" if "foreach" not in name:
            states = [state for state in optimizer.state.values() if any(isinstance(each, torch.Tensor) for each in state.values())]
            key = next((key for key, each in states[0].items() if isinstance(each, torch.Tensor) and key != "step"), None) if states else None
            if key is not None and states[-1][key].shape == states[0][key].shape:
                states[-1][key] = states[0][key]
        case "load":
            optimizer.load_state_dict(optimizer.state_dict())
        case "rate" if name != "adam_lr_tensor":
            optimizer.param_groups[0]["lr"] *= 0.5
