"""Changes of live objects between two calls in one process: statements that run where the program's globals are, with
its ENTRY and ARGUMENTS.
"""

import ast
import dataclasses
import random

from mutants import patches

ENTRY, ARGUMENTS = "__entry__", "__arguments__"
STEPS = 3  # Changes of one mutant, each followed by a call.
_PATCHED_SHARE = 0.4

_TENSORS = (
    "list({ENTRY}.parameters())[0]", "list({ENTRY}.parameters())[-1]", "list({ENTRY}.buffers())[0]", "{ARGUMENTS}[0]",
    "[value for value in list(globals().values()) if isinstance(value, __import__('torch').Tensor)][0]",
    "[cell.cell_contents for cell in {ENTRY}.__closure__][0]")
_MODULES = (
    "{ENTRY}", "list({ENTRY}.modules())[-1]",
    "[module for module in {ENTRY}.modules() if getattr(module, 'weight', None) is not None][0]")
_OF_TENSORS = (
    "{0}.data.mul_(2)", "{0}.data[0] = 5.0", "{0}.data[-1:] += 1.0", "{0}.data = {0}.data * 3",
    "{0}.data = {0}.data.clone()", "{0}.data = {0}.data.double()",
    "{0}.detach().numpy()[...] = 4.0", "{0}.detach().numpy()[0] = 4.0",
    "{0}.detach().numpy().flat[-1] = 9.0", "{0}.detach().add_(1)", "{0}.detach()[0].zero_()",
    "with torch.no_grad():\n    {0}.add_(1)", "with torch.no_grad():\n    {0}[-1:].zero_()",
    "with torch.no_grad():\n    {0}.copy_({0} * 2)", "with torch.inference_mode():\n    {0}.mul_(2)",
    "{0}.requires_grad_(not {0}.requires_grad)", "{0}.grad = torch.ones_like({0})", "{0}.data = {0}.data.flip(0)",
    "{0}.data = {0}.data.t().contiguous().t()", "{0}.more = 3", "{0}.untyped_storage().fill_(0)",
    "torch.utils.swap_tensors({0}, torch.ones_like({0}))")
_OF_MODULES = (
    "{0}.half()", "{0}.double()", "{0}.bfloat16()", "{0}.train()", "{0}.eval()", "{0}.requires_grad_(False)",
    "{0}.register_forward_hook(lambda module, inputs, output: output * 2)",
    "{0}.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))",
    "torch.nn.utils.parametrizations.weight_norm({0})", "torch.nn.utils.parametrize.register_parametrization("
    "{0}, 'weight', torch.nn.Softplus())", "{0}.register_buffer('more', torch.ones(1))",
    "{0}.load_state_dict({name: value * 2 for name, value in {0}.state_dict().items()})",
    "{0}.forward = lambda *arguments, **keywords: 3", "{0}.weight = torch.nn.Parameter({0}.weight.detach() * 2)",
    "{0}.bias = None", "del {0}.bias", "{0}.weight.data *= 2",
    "{0}.weight = torch.nn.Parameter({0}.weight[:1].detach())",
    "{0}.add_module('more', torch.nn.Identity())", "torch.nn.init.ones_({0}.weight)", "{0}.to('meta')",
    "torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: output * 2)",
    "{0}.__class__ = type('Other', (type({0}),), {})",
    "type({0}).forward = (lambda function: lambda *arguments, **keywords: function(*arguments, **keywords) * 2)("
    "type({0}).forward)")
_OF_ARGUMENTS = (
    "{0} = {0}.double()", "{0} = torch.cat(({0}, {0}))", "{0} = {0}[::2]", "{0} = {0}.requires_grad_()",
    "{0} = {0} * 2", "{0} = {0}.expand(3, *{0}.shape)", "{0} = torch.nn.Parameter({0})", "{0} = {0}.tolist()",
    "{0} = {0}.flip(0)")
_OF_PROCESS = (
    "torch.set_default_dtype(torch.float64)", "torch.use_deterministic_algorithms(True)", "torch.set_num_threads(2)",
    "torch.set_float32_matmul_precision('medium')", "torch.set_default_device('meta')", "torch.set_grad_enabled(True)",
    "torch.set_autocast_enabled('cpu', True)", "import os; os.environ['MUTANT_MODE'] = 'text'",
    "torch.autograd.set_detect_anomaly(True)", "torch.backends.mkldnn.enabled = False")
_CELLS = "{name}.__closure__[0].cell_contents = {value}"


@dataclasses.dataclass
class Calls:
    number: int
    program: object
    kind: str
    changes: list  # Statements, one text for each step.

    def diff(self):
        return [line for place, text in enumerate(self.changes, 1) for line in f"{place}. {text}".splitlines()]


def choose(programs, seed, number):
    chance = random.Random(f"{seed} calls {number}")
    program = chance.choice(programs)
    steps = [_one(program, chance) for _ in range(STEPS)]
    return Calls(number, program, steps[0][0], [text for _, text in steps])


def _one(program, chance):
    if chance.random() < _PATCHED_SHARE:
        return _patch(program, chance)
    kind, texts, targets = chance.choice((
        ("tensor", _OF_TENSORS, _TENSORS), ("module", _OF_MODULES, _MODULES),
        ("argument", _OF_ARGUMENTS, ("{ARGUMENTS}[0]",)), ("process", _OF_PROCESS, ("",))))
    text = chance.choice(texts)
    if kind in ("tensor", "module"):
        kind += f" {text.replace('{0}', '')[:28]!r}"
    return kind, _named(text.replace("{0}", chance.choice(targets)))


def _named(text):
    return text.replace("{ENTRY}", ENTRY).replace("{ARGUMENTS}", ARGUMENTS)


def _patch(program, chance):
    """What a program may do before it compiles, it may do later."""
    tree = ast.parse(program.files[program.main])
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    kinds = {}
    for kind, change in patches.patches(tree, chance):
        kinds.setdefault(kind, []).append(change)
    kind = chance.choice(sorted(kinds))
    count = len(tree.body)
    chance.choice(kinds[kind])()
    new = tree.body[count:]
    if functions and chance.random() < 0.1:
        return "closure", _CELLS.format(name=chance.choice(functions), value=chance.choice(("7", "2.5", "None")))
    if isinstance(new[-1], ast.FunctionDef) and new[-1].name == "make":
        return kind, _renamed("\n".join(map(ast.unparse, new[-1].body[1:-1])))
    return kind, "\n".join(map(ast.unparse, new))


def _renamed(text):
    """With make()'s entry under its name here."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "entry":
            node.id = ENTRY
    return ast.unparse(tree)
