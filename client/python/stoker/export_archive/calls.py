"""With which arguments a job will call a program: those that it was exported with, or of other sizes."""

import itertools
import re

from ..pytorch.exported import arrange, dtype_of
from .errors import ArchiveError
from .expressions import Expression
from .stand_ins import empty

MAX_CALLS = 32  # Each is traced.
_CHOICE = re.compile(r"(?:([^:=]+):)?([A-Za-z_][A-Za-z0-9_]*)(?:\.([0-9]{1,3}))?=([0-9]{1,12}(?:,[0-9]{1,12})*)")
_CONSTANTS = ("as_int", "as_float", "as_bool", "as_string", "as_none")


class Choice:
    """--size x.0=1,8: what one size of an input is to be; model:x.0=1,8 in one program of several."""

    def __init__(self, text):
        match = _CHOICE.fullmatch(text)
        if match is None:
            raise ArchiveError(f"--size '{text}' is not of the form x.0=1,8,32: an input, a dim, and sizes.")
        self.text = text
        self._model = match[1]
        self.input = match[2]
        self.dim = None if match[3] is None else int(match[3])
        self.sizes = list(dict.fromkeys(map(int, match[4].split(","))))
        self.was_used = False

    def is_for(self, model):
        return self._model in (None, model)


class Calls:
    """Of one program, checked, as JSON."""

    def __init__(self, program):
        graph = program["graph_module"]["graph"]
        self._graph = graph
        self._ranges = program["range_constraints"]
        self._tree = program["graph_module"]["module_call_graph"][0]["signature"]["in_spec"]
        specs = program["graph_module"]["signature"]["input_specs"]
        self._inputs = [
            argument for spec, argument in zip(specs, graph["inputs"], strict=True)
            if "user_input" in spec or "constant_input" in spec]
        self._known = self._symbols_of_the_export()

    def all(self, choices):
        """A list of (text that names it, arguments, keywords)."""
        found = {}
        for symbols in self._combinations(choices):
            symbols = {**self._known, **symbols}
            found.setdefault(tuple(sorted(symbols.items())), symbols)
        if len(found) > MAX_CALLS:
            raise ArchiveError(f"--size asks for {len(found)} combinations; at most {MAX_CALLS} are traced.")
        return [(self._text(symbols), *self._arguments(symbols)) for symbols in found.values()]

    # ---- Symbols --------------------------------------------------------------------------------

    def _symbols_of_the_export(self):
        """{symbol: int} as far as the program's sizes say."""
        known = {}
        described = [*self._graph["tensor_values"].values(), *self._graph["sym_int_values"].values()]
        sizes = itertools.chain.from_iterable(
            [*value["sizes"], *value["strides"]] if "sizes" in value else [value] for value in described)
        for size in sizes:
            expression = size.get("as_expr")
            hint = ((expression or {}).get("hint") or {}).get("as_int")
            if hint is not None:
                for name, value in (Expression(expression["expr_str"]).solve(hint) or {}).items():
                    known.setdefault(name, value)
        return known

    def _combinations(self, choices):
        """{symbol: int} for each combination of sizes."""
        options = []
        for choice in choices:
            expression = self._size_chosen(choice)
            if expression is not None:
                choice.was_used = True
                options.append([self._symbols_for(choice, expression, size) for size in choice.sizes])
        for parts in itertools.product(*options):
            merged = {}
            for part in parts:
                merged.update(part)
            if all(merged[name] == value for part in parts for name, value in part.items()):
                yield merged

    def _size_chosen(self, choice):
        """The Expression of a size; None if the program has no such input."""
        for argument in self._inputs:
            kind, value = self._kind_and_value(argument)
            if kind == "as_tensor" and argument["as_tensor"]["name"] == choice.input and choice.dim is not None:
                if choice.dim >= len(value["sizes"]):
                    raise ArchiveError(f"--size {choice.text}: '{choice.input}' has {len(value['sizes'])} dims.")
                size = value["sizes"][choice.dim]
            elif kind == "as_sym_int" and argument["as_sym_int"].get("as_name") == choice.input and choice.dim is None:
                size = value
            else:
                continue
            if "as_expr" not in size:
                raise ArchiveError(f"--size {choice.text}: the program was exported for {size.get('as_int')} alone.")
            return Expression(size["as_expr"]["expr_str"])
        return None

    def _symbols_for(self, choice, expression, size):
        symbols = expression.solve(size)
        if symbols is None:
            raise ArchiveError(f"--size {choice.text}: no sizes of the program make it {size}.")
        for name, value in symbols.items():
            bounds = self._ranges.get(name, {})
            least, most = bounds.get("min_val"), bounds.get("max_val")
            if value < 0 or least is not None and value < least or most is not None and value > most:
                raise ArchiveError(
                    f"--size {choice.text}: {size} is out of the range that it was exported for "
                    f"({name} is {value}; {least} to {most}).")
        return symbols

    # ---- Arguments ------------------------------------------------------------------------------

    def _kind_and_value(self, argument):
        """("as_tensor", TensorMeta), ("as_sym_int", SymInt), or ("as_int", number) and other constants."""
        (kind, value), = argument.items()
        if kind == "as_tensor":
            return kind, self._graph["tensor_values"][value["name"]]
        if kind == "as_sym_int" and "as_name" in value:
            return kind, self._graph["sym_int_values"][value["as_name"]]
        if kind in _CONSTANTS:
            return kind, value
        raise ArchiveError(f"An input is of a kind that is not known here, '{kind}'.")

    def _arguments(self, symbols):
        try:
            leaves = [self._leaf(argument, symbols) for argument in self._inputs]
            arguments, keywords = arrange(leaves, self._tree)
        except (TypeError, ValueError, KeyError, AttributeError, RuntimeError) as error:
            raise ArchiveError(f"Its arguments cannot be made: {type(error).__name__}: {error}.") from None
        return arguments, keywords

    def _leaf(self, argument, symbols):
        kind, value = self._kind_and_value(argument)
        if kind == "as_tensor":
            shape = [self._number(size, symbols) for size in value["sizes"]]
            strides = [self._number(stride, symbols) for stride in value["strides"]]
            tensor = empty(dtype_of(value["dtype"]), shape, strides)
            return tensor.requires_grad_() if value["requires_grad"] else tensor
        if kind == "as_sym_int":
            return self._number(value, symbols)
        return None if kind == "as_none" else float(value) if kind == "as_float" else value

    def _number(self, size, symbols):
        if "as_int" in size:
            return size["as_int"]
        try:
            return Expression(size["as_expr"]["expr_str"]).value(symbols)
        except KeyError as unknown:
            raise ArchiveError(
                f"The archive does not say what {unknown} was when the program was exported: --size says it "
                f"({', '.join(self._names_of_sizes())}).") from None

    def _names_of_sizes(self):
        for argument in self._inputs:
            kind, value = self._kind_and_value(argument)
            if kind == "as_tensor":
                for dim, size in enumerate(value["sizes"]):
                    if "as_expr" in size:
                        yield f"{argument['as_tensor']['name']}.{dim}"
            elif kind == "as_sym_int" and "as_expr" in value:
                yield argument["as_sym_int"]["as_name"]

    def _text(self, symbols):
        """Like the --size that asks for it; empty where nothing is dynamic."""
        texts = []
        for argument in self._inputs:
            kind, value = self._kind_and_value(argument)
            name = argument[kind]["name"] if kind == "as_tensor" else str(argument.get(kind))
            for dim, size in enumerate(value["sizes"]) if kind == "as_tensor" else ():
                if "as_expr" in size:
                    texts.append(f"{name}.{dim}={self._number(size, symbols)}")
            if kind == "as_sym_int" and "as_expr" in value:
                texts.append(f"{argument[kind]['as_name']}={self._number(value, symbols)}")
        return ", ".join(texts)
