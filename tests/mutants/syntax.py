"""Mutations of a module by its syntax tree.

Each is a kind and a function that changes the tree that it was found in. They are found in the order of the tree, so
that a number names one of them.
"""

import ast
import copy

# What a name may stand for that was not there.
VALUES = (
    "7", "2.5", "True", "None", "'text'", "[1, 2]", "{'first': 3}", "lambda *arguments, **keywords: 3",
    "property(lambda self: 3)")
# Names that operations read without naming them.
UNNAMED = (
    "__len__", "__bool__", "__eq__", "__hash__", "__iter__", "__contains__", "__getitem__", "__getattr__", "__call__",
    "__getattribute__", "__setattr__", "__instancecheck__", "__enter__", "__add__", "__radd__", "__mul__", "__float__",
    "__index__", "__neg__", "__str__", "__repr__", "__format__", "__lt__", "__missing__", "__get__", "__set__",
    "__init_subclass__", "__class_getitem__", "__new__", "__init__", "__post_init__", "__torch_function__")

_BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_SIBLINGS = {
    "math": "cmath", "torch.nn.functional": "torch", "torch": "torch.nn.functional", "functools": "itertools",
    "collections": "collections.abc"}


def names_in(tree):
    """Identifiers, and texts that may be names, in order."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found[node.id] = None
        elif isinstance(node, ast.Attribute):
            found[node.attr] = None
        elif isinstance(node, ast.arg):
            found[node.arg] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found[node.value] = None
        elif isinstance(node, _SCOPES):
            found[node.name] = None
    return list(found)


def mutations(tree, random):
    """[(kind, change())]. `random` is asked within change() alone."""
    return list(_Finder(tree, random).find())


def touching_nothing(tree, random):
    """The same, of changes that no run reads."""
    return list(_Indifferent(tree, random).find())


def parse_statement(text):
    return ast.parse(text).body[0]


def _expression(text):
    return ast.parse(text, mode="eval").body


def _walk(tree):
    """Nodes, but what makes the entry and its arguments: guards say what these are."""
    pending = [tree]
    for node in pending:
        yield node
        pending += [
            child for child in ast.iter_child_nodes(node)
            if not (isinstance(child, ast.FunctionDef) and child.name == "make" and node is tree)]


class _Finder:
    def __init__(self, tree, random):
        self._tree, self._random = tree, random
        self._names = names_in(tree)
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def find(self):
        for node in _walk(self._tree):
            for kind, change, *arguments in self._of(node):
                yield kind, lambda change=change, arguments=arguments: change(*arguments)

    def _of(self, node):
        yield from {
            ast.Constant: self._of_constant, ast.BinOp: self._of_operator, ast.AugAssign: self._of_operator,
            ast.UnaryOp: self._of_unary, ast.Compare: self._of_comparison, ast.BoolOp: self._of_boolean,
            ast.If: self._of_test, ast.IfExp: self._of_test, ast.Dict: self._of_dictionary, ast.List: self._of_sequence,
            ast.Tuple: self._of_sequence, ast.Set: self._of_sequence, ast.Call: self._of_call,
            ast.Attribute: self._of_attribute, ast.Name: self._of_name, ast.Import: self._of_import,
            ast.ImportFrom: self._of_import_from, ast.Module: self._of_body, ast.ClassDef: self._of_class,
            ast.FunctionDef: self._of_function, ast.AsyncFunctionDef: self._of_function}.get(
                type(node), lambda node: ())(node)

    def _place_of(self, node):
        """Where an expression stands, for people."""
        inner = node
        while (outer := self._parents.get(inner)) is not None:
            if isinstance(outer, ast.arguments):
                return "default"
            if isinstance(outer, _SCOPES) and inner in outer.decorator_list:
                return "decorator"
            if isinstance(outer, _FUNCTIONS):
                return "body"
            if isinstance(outer, ast.ClassDef):
                return "enumeration" if any("Enum" in ast.unparse(base) for base in outer.bases) else "class"
            inner = outer
        return "module"

    def _is_documentation(self, node):
        return isinstance(self._parents.get(node), ast.Expr)

    # ---- expressions

    def _of_constant(self, node):
        if self._is_documentation(node) or node.value is Ellipsis:
            return
        yield f"constant of {self._place_of(node)}", self._change_constant, node

    def _change_constant(self, node):
        value, choose = node.value, self._random.choice
        if isinstance(value, bool):
            node.value = not value
        elif isinstance(value, (int, float, complex)):
            changed = choose((value + 1, value * 2, -value, value - 1, value / 2, type(value)(0), float(value.real)))
            node.value = value + 1 if repr(changed) == repr(value) else changed
        elif isinstance(value, str):
            others = [name for name in self._names if name != value]
            node.value = choose((value + "_", value.upper(), choose(others)))
            if node.value == value:
                node.value = value + "_"
        elif isinstance(value, bytes):
            node.value = value + b"_"
        else:
            node.value = choose((0, 1.5, "text", True))

    def _of_operator(self, node):
        if isinstance(node.op, _BINARY):
            yield "operator", self._change_operator, node
        if isinstance(node, ast.BinOp):
            yield "operands swapped", self._swap_operands, node

    def _change_operator(self, node):
        node.op = self._random.choice([op for op in _BINARY if not isinstance(node.op, op)])()

    def _swap_operands(self, node):
        node.left, node.right = node.right, node.left

    def _of_unary(self, node):
        yield "operator", self._replace, node, node.operand

    def _replace(self, node, other):
        """In its parent."""
        parent = self._parents[node]
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, other)
            elif isinstance(value, list) and node in value:
                value[value.index(node)] = other

    def _of_comparison(self, node):
        yield "comparison", self._change_comparison, node

    def _change_comparison(self, node):
        place = self._random.randrange(len(node.ops))
        node.ops[place] = self._random.choice([op for op in _COMPARISONS if not isinstance(node.ops[place], op)])()

    def _of_boolean(self, node):
        yield "boolean", self._change_boolean, node

    def _change_boolean(self, node):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()

    def _of_test(self, node):
        yield "boolean", self._negate, node

    def _negate(self, node):
        node.test = ast.UnaryOp(ast.Not(), node.test)

    def _of_dictionary(self, node):
        if node.keys:
            yield "dictionary entry gone", self._remove_item, node.keys, node.values
        if len(node.keys) > 1:
            yield "dictionary reordered", self._reorder, node.keys, node.values
        yield "dictionary entry new", self._add_item, node

    def _remove_item(self, *lists):
        place = self._random.randrange(len(lists[0]))
        for items in lists:
            del items[place]

    def _reorder(self, *lists):
        place = self._random.randrange(len(lists[0]) - 1)
        for items in lists:
            items[place], items[place + 1] = items[place + 1], items[place]

    def _add_item(self, node):
        node.keys.append(ast.Constant(self._random.choice(self._names)))
        node.values.append(_expression(self._random.choice(VALUES)))

    def _of_sequence(self, node):
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        if node.elts:
            yield "item gone", self._remove_item, node.elts
            yield "item twice", self._repeat_item, node.elts
        if len(node.elts) > 1:
            yield "items reordered", self._reorder, node.elts

    def _repeat_item(self, items):
        items.append(copy.deepcopy(self._random.choice(items)))

    def _of_call(self, node):
        if len(node.args) > 1:
            yield "arguments reordered", self._reorder, node.args
        if node.args:
            yield "argument gone", self._remove_item, node.args
        if node.keywords:
            yield "keyword gone", self._remove_item, node.keywords
            yield "keyword renamed", self._rename_keyword, node

    def _rename_keyword(self, node):
        self._random.choice(node.keywords).arg = self._random.choice(self._names)

    def _of_attribute(self, node):
        yield "another attribute", self._change_field, node, "attr"

    def _of_name(self, node):
        if isinstance(node.ctx, ast.Load):
            yield f"another name in {self._place_of(node)}", self._change_field, node, "id"

    def _change_field(self, node, field):
        setattr(node, field, self._random.choice(self._names))

    # ---- statements

    def _of_import(self, node):
        for place, alias in enumerate(node.names):
            if alias.name in _SIBLINGS:
                yield "import redirected", self._redirect, node, place

    def _redirect(self, node, place):
        alias = node.names[place]
        node.names[place] = ast.alias(_SIBLINGS[alias.name], alias.asname or alias.name.partition(".")[0])

    def _of_import_from(self, node):
        if len(node.names) > 1:
            yield "import redirected", self._swap_imported, node
        if node.module in _SIBLINGS:
            yield "import redirected", setattr, node, "module", _SIBLINGS[node.module]

    def _swap_imported(self, node):
        """Each name stands for what another one did."""
        bound = [alias.asname or alias.name for alias in node.names]
        for alias, name in zip(node.names, [*bound[1:], bound[0]]):
            alias.asname = name

    def _of_body(self, node):
        place = {ast.Module: "module", ast.ClassDef: "class"}.get(type(node), "function")
        for statement in node.body:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                yield f"statement of {place} gone", self._remove_statement, node, statement
        if len(node.body) > 1:
            yield f"statements of {place} reordered", self._reorder, node.body
        for name in (*self._names, *(UNNAMED if place == "class" else ())):
            if place != "function":
                yield f"definition in {place}", self._define, node, name
        definitions = [each for each in node.body if isinstance(each, _FUNCTIONS)]
        if definitions and place != "function":
            yield f"definition hidden in {place}", self._hide, node, definitions

    def _remove_statement(self, node, statement):
        node.body.remove(statement)
        if not node.body:
            node.body.append(ast.Pass())

    def _define(self, node, name):
        statement = parse_statement(f"{name} = {self._random.choice(VALUES)}")
        node.body.insert(self._random.choice((len(node.body), self._behind_imports(node))), statement)

    def _behind_imports(self, node):
        places = [place for place, each in enumerate(node.body, 1) if isinstance(each, (ast.Import, ast.ImportFrom))]
        return max(places, default=0)

    def _hide(self, node, definitions):
        """A later definition of the same name, that does something else."""
        later = copy.deepcopy(self._random.choice(definitions))
        found = mutations(later, self._random)
        if found:
            self._random.choice(found)[1]()
        node.body.append(later)

    def _of_class(self, node):
        yield from self._of_body(node)
        yield "base new", self._add_base, node
        for base in node.bases:
            yield "base gone", node.bases.remove, base
        if len(node.bases) > 1:
            yield "bases reordered", self._reorder, node.bases
        yield from self._of_decorated(node)

    def _add_base(self, node):
        name = self._random.choice(self._names)
        text = f"class Another:\n    {name} = {self._random.choice(VALUES)}"
        tree = self._tree if isinstance(self._tree, ast.Module) else node
        tree.body.insert(self._behind_imports(tree), parse_statement(text))
        node.bases.insert(self._random.randrange(len(node.bases) + 1), ast.Name("Another", ast.Load()))

    def _of_function(self, node):
        yield from self._of_body(node)
        yield from self._of_decorated(node)
        yield "decorator new", self._decorate, node
        if len(node.args.args) > 1:
            yield "parameters reordered", self._reorder, node.args.args
        if node.args.defaults:
            yield "default gone", self._remove_item, node.args.defaults
        if len(node.args.args) > len(node.args.defaults):
            yield "default new", self._add_default, node

    def _add_default(self, node):
        node.args.defaults.insert(0, _expression(self._random.choice(VALUES)))

    def _of_decorated(self, node):
        for decorator in node.decorator_list:
            yield "decorator gone", node.decorator_list.remove, decorator
        if len(node.decorator_list) > 1:
            yield "decorators reordered", self._reorder, node.decorator_list

    def _decorate(self, node):
        name = self._random.choice((
            "(lambda function: lambda *arguments, **keywords: function(*arguments, **keywords) * 2)",
            "(lambda function: __import__('functools').wraps(function)("
            "lambda *arguments, **keywords: function(*arguments, **keywords) * 2))",
            "property", "staticmethod", "classmethod", "__import__('functools').cached_property",
            "__import__('functools').lru_cache", "__import__('functools').partial",
            "__import__('torch').compiler.disable", "__import__('torch').compiler.assume_constant_result",
            "__import__('torch').compiler.allow_in_graph", "__import__('torch').no_grad()",
            "__import__('torch').fx.wrap"))
        node.decorator_list.insert(self._random.randrange(len(node.decorator_list) + 1), _expression(name))


class _Indifferent:
    def __init__(self, tree, random):
        self._tree, self._random = tree, random

    def find(self):
        bodies = [node for node in ast.walk(self._tree) if isinstance(node, (ast.Module, ast.ClassDef))]
        for node in bodies:
            place = "module" if isinstance(node, ast.Module) else "class"
            for text in ("unused_value = 7", "def unused_function(x):\n    return x * 3",
                         "class Unused:\n    value = 3\n\n    def method(self):\n        return 5"):
                if place == "module" or not self._is_special(node):
                    yield f"unused definition in {place}", lambda node=node, text=text: self._insert(node, text)
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.Module, *_SCOPES)):
                yield "documentation", lambda node=node: self._document(node)
        places = [
            place for place, (one, other) in enumerate(zip(self._tree.body, self._tree.body[1:]))
            if all(isinstance(each, _FUNCTIONS) and not each.decorator_list and not each.args.defaults
                   for each in (one, other))]
        for place in places:
            yield "code moved", lambda place=place: self._swap(place)
        yield "lines moved", lambda: self._tree.body.insert(1, parse_statement("'A text that nothing reads.'"))

    @staticmethod
    def _is_special(node):
        """Do the names in its body count for what it is?"""
        return any(name in ast.unparse(base) for base in node.bases for name in ("Enum", "Flag", "NamedTuple", "Typed")
                   ) or bool(node.decorator_list) or bool(node.keywords)

    def _insert(self, node, text):
        node.body.insert(len(node.body), parse_statement(text))

    def _document(self, node):
        text = ast.Expr(ast.Constant(f"Another text, {self._random.randrange(1000)}."))
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body[0] = text
        elif not (isinstance(first, ast.ImportFrom) and first.module == "__future__"):
            node.body.insert(0, text)

    def _swap(self, place):
        body = self._tree.body
        body[place], body[place + 1] = body[place + 1], body[place]
