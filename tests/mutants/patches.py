"""Changes that a program makes to what is already there before it compiles: statements at the end of its module, and in
its make() behind what it made; environment variables.
"""

import ast
import builtins

from mutants.syntax import UNNAMED, VALUES, names_in

_WRAPPED = (
    "(lambda function: lambda *arguments, **keywords: function(*arguments, **keywords) * 2)({})",
    "(lambda function: __import__('functools').wraps(function)("
    "lambda *arguments, **keywords: function(*arguments, **keywords) * 2))({})",
    "lambda *arguments, **keywords: 3", "__import__('functools').partial({})")
# PyTorch and Stoker do not work without.
_NOT_PATCHED = ("os.", "sys.", "importlib.", "torch.compiler.", "torch._", "torch.library", "collections.namedtuple")
_OBJECTS = ("entry", "list(entry.modules())[-1]", "next(iter(vars(entry).values()))")
_BUILTINS = frozenset(dir(builtins))
_PATCHED = frozenset(("abs", "divmod", "max", "min", "ord", "pow", "round", "sum"))  # PyTorch still works.


def patches(tree, random):
    """[(kind, change())] as syntax.mutations."""
    return list(_Patches(tree, random).find())


def variables(tree, random):
    """Of the environment: {name: value}, of a text in the module."""
    texts = sorted({
        node.value for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()})
    return {random.choice(texts): random.choice(("1", "3.5", "", "text", None))} if texts else {}


class _Patches:
    def __init__(self, tree, random):
        self._tree, self._random = tree, random
        self._names = names_in(tree)
        body = tree.body
        self._classes = [node for node in body if isinstance(node, ast.ClassDef)]
        self._functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name != "make"]
        self._data = [
            target.id for node in body if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)]
        self._modules = [
            alias.asname or alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
        roots = {name.partition(".")[0] for name in self._modules}
        self._chains = sorted({
            ast.unparse(node) for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and _root(node) in roots and node.attr[0].islower()
            and not ast.unparse(node).startswith(_NOT_PATCHED)})
        self._used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        
    def find(self):
        for name in self._names:
            yield "module patched", self._at_end(f"{name} = {{value}}")
        for name in sorted(self._used & _BUILTINS):
            yield "builtin hidden", self._at_end(f"{name} = {{wrapped}}", name)
        for name in sorted(self._used & _PATCHED):
            yield "builtin patched", self._at_end(f"__import__('builtins').{name} = {{wrapped}}", name)
        for node in self._functions:
            yield "function patched", self._at_end(f"{node.name} = {{wrapped}}", node.name)
            for name in (*self._names, "__wrapped__", "__defaults__", "__kwdefaults__"):
                yield "attribute of function", self._at_end(f"{node.name}.{name} = {{value}}")
            yield "attribute of function", self._at_end(f"{node.name}.__defaults__ = ({{value}},)")
            for other in self._functions:
                yield "code of function", self._at_end(f"{node.name}.__code__ = {other.name}.__code__")
        for node in self._classes:
            yield from self._of_class(node)
        for name in self._data:
            for change in (
                    "{0}['{name}'] = {value}", "{0}.append({value})", "{0}.clear()", "{0}.reverse()",
                    "{0}.add('{name}')", "{0}.{name} = {value}", "{0}.move_to_end(next(iter({0})))", "del {0}.{name}",
                    "{0}.update({name}={value})"):
                yield "data patched", self._at_end(change, name)
        for chain in self._chains:
            yield "attribute of module", self._at_end(f"{chain} = {{wrapped}}", chain)
        for name in self._modules:
            yield "attribute of module", self._at_end(f"{name}.{{name}} = {{value}}")
        for target in _OBJECTS:
            for name in self._names:
                yield "object patched", self._in_make(f"{target}.{name} = {{value}}")
                yield "object patched", self._in_make(f"{target}.{name} = {{wrapped}}", f"{target}.{name}")
            for text in (f"del {target}.{{name}}", f"{target}.train()", f"{target}.eval()",
                         f"{target}.requires_grad_(False)",
                         f"{target}.register_forward_hook(lambda module, inputs, output: output * 2)",
                         f"{target}.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))",
                         f"{target}.__class__ = type('Other', (type({target}),), {{{{'{{name}}': {{value}}}}}})"):
                yield "object patched", self._in_make(text)

    def _of_class(self, node):
        methods = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
        for name in (*self._names, *UNNAMED):
            yield "class patched", self._at_end(f"{node.name}.{name} = {{value}}")
        for name in methods:
            yield "class patched", self._at_end(f"{node.name}.{name} = {{wrapped}}", f"{node.name}.{name}")
            yield "class patched", self._at_end(f"del {node.name}.{name}")
            for other in methods:
                yield "class patched", self._at_end(f"{node.name}.{name} = {node.name}.{other}")
        for other in self._classes:
            yield "class registered", self._at_end(f"{node.name}.register({other.name})")
            yield "bases patched", self._at_end(f"{node.name}.__bases__ = ({other.name},)")
        yield "class replaced", self._at_end(
            f"{node.name} = type('{node.name}', ({node.name},), {{'{{name}}': {{value}}}})")
        yield "annotation patched", self._at_end(f"{node.name}.__annotations__['{{name}}'] = int")

    def _filled(self, text, old):
        choose = self._random.choice
        for place, filling in (
                ("{wrapped}", choose(_WRAPPED).replace("{}", old)), ("{value}", choose(VALUES)),
                ("{name}", choose(self._names)), ("{0}", old)):
            text = text.replace(place, filling)
        return text

    def _at_end(self, text, old=""):
        return lambda: self._tree.body.extend(ast.parse(self._filled(text, old)).body)

    def _in_make(self, text, old=""):
        def change():
            self._tree.body += ast.parse(
                "_make = make\n\n\ndef make():\n    entry, arguments = _make()\n"
                f"    {self._filled(text, old)}\n    return entry, arguments").body

        return change


def _root(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
