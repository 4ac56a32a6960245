"""What torch.nn.Module keeps in every module, and a module that stands for another one."""

import torch

HELD = ("_parameters", "_buffers", "_modules")  # Besides its attributes.
# PyTorch numbers what it adds to any of them with RemovableHandle.next_id.
HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs")
CALLED_HOOKS = HOOKS[:4]  # What calling a module looks into.
CALLED = ("_call_impl", "_wrapped_call_impl", "_compiled_call_impl")  # And runs, a module's own before its class's.


def held_modules(module):
    """As Module.named_modules, of which a program's module may have another, and which asks for hashes."""
    seen, found = set(), []

    def walk(name, held):
        if held is None or id(held) in seen:
            return
        seen.add(id(held))
        found.append((name, held))
        for part, below in vars(held).get("_modules", {}).items():
            walk(f"{name}.{part}" if name else part, below)

    walk("", module)
    return found


class CompiledModule(torch.nn.Module):
    """As torch.compile's: the module is `_orig_mod`; what is read, set or deleted here is its. `call` is called in its
    place; call.of(module) is the same for another one."""

    def __init__(self, module, call):
        super().__init__()
        self._hold(module, call)

    def _hold(self, module, call):
        self._modules["_orig_mod"] = module
        self.__dict__["_call"] = call

    def forward(self, *arguments, **keywords):
        return self._call(*arguments, **keywords)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, mode):
        if "_modules" in self.__dict__:  # Not while torch.nn.Module makes it.
            self._orig_mod.training = mode

    def train(self, mode=True):
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name == "_orig_mod":
            self._hold(value, self._call.of(value))
        elif name in _OF_MODULES:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return bool(self._orig_mod)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


# What torch.nn.Module keeps in every module.
_OF_MODULES = frozenset(vars(torch.nn.Module()))
