"""One call of a function of the program, interpreted and never run.

Known are the few instructions of CPython 3.11 to 3.15 whose outcome only the arguments and what the caller looks up
decide. As in a trace, a function keeps its code, and `super` stays the builtin in modules that do not define it.
"""

import dis
import inspect
import types
import weakref

from ...base.signals import let_through

_SCALARS = frozenset((str, int, bool, type(None)))

_COLLECTS_ARGUMENTS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_listings = weakref.WeakKeyDictionary()  # Function -> (its code, instructions): they take longer than all else.


class Unknown(Exception):
    """The code reads something else, or is not understood."""


class _Internal:
    """Not a value of the program: what is known about `super` and the methods that may be called.
    `held`: the classes, or the dictionary, in which they look."""

    def __init__(self, kind, held=None):
        self.kind = kind
        self.held = held


ABSENT, _SUPER = _Internal("absent"), _Internal("super")


def require(condition):
    if not condition:
        raise Unknown


def look_up(dictionary, key, default=ABSENT):
    """Where comparing keys runs no code of the program. An OrderedDict may have another `get` of its own."""
    require(type(key) in _SCALARS and _SCALARS.issuperset(map(type, tuple(dictionary))))
    return dictionary[key] if key in dictionary else default


def interpret(reading, function, arguments):
    """What the function returns. `reading` says what attributes and items are: see attribute_reads.py."""
    require(type(function) is types.FunctionType)
    code = function.__code__
    require(not code.co_exceptiontable and not code.co_flags & _COLLECTS_ARGUMENTS)
    require(code.co_argcount == len(arguments) and not code.co_kwonlyargcount)
    result = _Frame(reading, function, arguments).run()
    require(type(result) is not _Internal)
    return result


def _listing(function):
    code, listing = _listings.get(function, (None, ()))
    if code is not function.__code__:
        code = function.__code__
        listing = tuple(
            (instruction.offset, _name(instruction), instruction.argval)
            for instruction in dis.get_instructions(code))
        _listings[function] = code, listing
    return listing


def _name(instruction):
    """One name for what versions call differently: 3.11 says where a jump leads, 3.14 who holds a reference."""
    if instruction.opname == "BINARY_OP" and instruction.argrepr == "[]":
        return "BINARY_SUBSCR"
    return instruction.opname.replace("_FORWARD_IF_", "_IF_").replace("_BORROW", "")


def _is_true(value):
    require(type(value) in _SCALARS)
    return bool(value)


class _Frame:
    """One call of a function of the program. Its stack lacks the NULLs with which CPython marks what is no method."""

    def __init__(self, reading, function, arguments):
        self._reading = reading
        self._function = function
        self._locals = dict(zip(function.__code__.co_varnames, arguments))
        self._stack = []

    def run(self):
        target = 0
        for offset, name, argument in _listing(self._function):
            if offset < target:  # All jumps that are known lead forward.
                continue
            self._reading.count_instruction()
            if name in ("RETURN_VALUE", "RETURN_CONST"):
                return self._stack.pop() if name == "RETURN_VALUE" else argument
            target = self._step(name, argument) or 0
        raise Unknown

    def _step(self, name, argument):
        """Gives the offset to jump to, if any."""
        stack = self._stack
        match name:
            case "RESUME" | "COPY_FREE_VARS" | "PRECALL" | "NOP" | "NOT_TAKEN" | "EXTENDED_ARG":
                pass
            case "LOAD_CONST" | "LOAD_SMALL_INT" | "LOAD_COMMON_CONSTANT":
                stack.append(argument)
            case "LOAD_FAST" | "LOAD_FAST_CHECK":
                stack.append(self._local(argument))
            case "LOAD_FAST_LOAD_FAST":
                stack += (self._local(each) for each in argument)
            case "STORE_FAST":
                self._locals[argument] = stack.pop()
            case "STORE_FAST_LOAD_FAST":
                self._locals[argument[0]] = stack.pop()
                stack.append(self._local(argument[1]))
            case "LOAD_GLOBAL":
                stack.append(self._global(argument))
            case "LOAD_DEREF":
                stack.append(self._cell(argument))
            case "LOAD_ATTR" | "LOAD_METHOD":
                stack.append(self._attribute(stack.pop(), argument))
            case "LOAD_SUPER_ATTR":
                instance, cls, called = stack.pop(), stack.pop(), stack.pop()
                require(called is _SUPER)
                stack.append(self._attribute(self._super(cls, instance), argument))
            case "CALL":
                arguments = [stack.pop() for _ in range(argument)][::-1]
                stack.append(self._called(stack.pop(), arguments))
            case "IS_OP" | "COMPARE_OP" | "CONTAINS_OP" | "BINARY_SUBSCR":
                right, left = stack.pop(), stack.pop()
                stack.append(self._operation(name, argument, left, right))
            case "COPY":
                stack.append(stack[-argument])
            case "POP_TOP":
                stack.pop()
            case "TO_BOOL":
                stack.append(_is_true(stack.pop()))
            case "JUMP_FORWARD":
                return argument
            case "POP_JUMP_IF_NONE" | "POP_JUMP_IF_NOT_NONE":
                return argument if (stack.pop() is None) is (name == "POP_JUMP_IF_NONE") else None
            case "POP_JUMP_IF_TRUE" | "POP_JUMP_IF_FALSE":
                return argument if _is_true(stack.pop()) is (name == "POP_JUMP_IF_TRUE") else None
            case "JUMP_IF_TRUE_OR_POP" | "JUMP_IF_FALSE_OR_POP":
                if _is_true(stack[-1]) is (name == "JUMP_IF_TRUE_OR_POP"):
                    return argument
                stack.pop()
            case _:
                raise Unknown
        return None

    def _local(self, name):
        require(name in self._locals)
        return self._locals[name]

    def _operation(self, name, argument, left, right):
        if name == "IS_OP":
            require(_Internal not in (type(left), type(right)))
            return (left is right) is not bool(argument)
        if name == "COMPARE_OP":
            require(argument in ("==", "!=") and type(left) in _SCALARS and type(right) in _SCALARS)
            return (left == right) is (argument == "==")
        if name == "CONTAINS_OP":
            return (self._reading.item(right, left, ABSENT) is ABSENT) is bool(argument)
        found = self._reading.item(left, right, ABSENT)
        require(found is not ABSENT)
        return found

    def _attribute(self, owner, name):
        if owner is self._reading.value:
            return self._reading.attribute(name, self._reading.classes)
        if type(owner) is dict and name == "get":
            return _Internal("get", owner)
        require(type(owner) is _Internal and owner.kind == "super()" and name == "__getattribute__")
        return _Internal("getattribute", owner.held)

    def _called(self, called, arguments):
        match type(called) is _Internal and called.kind, len(arguments):
            case "super", 0:
                first = self._function.__code__.co_varnames[0]
                return self._super(self._cell("__class__"), self._locals[first])
            case "getattribute", 1:
                return self._reading.attribute(*arguments, called.held)
            case "get", 1 | 2:
                return self._reading.item(called.held, *arguments)
        raise Unknown

    def _super(self, cls, instance):
        order = self._reading.classes
        behind = [place for place, each in enumerate(order, 1) if each is cls]
        require(instance is self._reading.value and behind)
        return _Internal("super()", order[behind[0]:])

    def _global(self, name):
        own, builtin = self._function.__globals__, self._function.__builtins__
        require(name == "super" and type(own) is dict and type(builtin) is dict)
        require(look_up(own, name) is ABSENT and look_up(builtin, name) is super)
        return _SUPER

    def _cell(self, name):
        free = self._function.__code__.co_freevars
        require(name == "__class__" and name in free)
        try:
            return self._function.__closure__[free.index(name)].cell_contents
        except ValueError as error:  # Empty.
            let_through(error)
            raise Unknown from None
