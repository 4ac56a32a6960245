"""Which functions may let out the order of a set."""

import collections
import sys

import pytest

from stoker.captures.bytecode.reads import code_inside, makes_sets, takes_exceptions
from stoker.captures.bytecode.set_order import Around, shows_order

KNOWN = frozenset(("a", "b"))


def asked(x):
    return "a" in {"a", "b", x}


def filled_and_asked(items):
    seen = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return len(seen)


def comprehension_asked(items):
    names = {item.name for item in items}
    return [item for item in items if item.other in names]


def sorted_first(items):
    return [item for item in sorted(set(items) - {"a"})]


def least_and_greatest(items):
    return min({*items}), max(set(items)), sorted({*items}, reverse=True)


def first_by_a_key(items):
    return min({*items}, key=len)


def least_of_two(items):
    return min({*items}, {"a"})


def compared(items):
    return set(items) <= KNOWN and not (set(items) & KNOWN)


def kept_and_compared(items):
    rest = set(items).difference(KNOWN)
    rest |= {"c"}
    return bool(rest) and rest != KNOWN


def global_asked(x):
    return x in KNOWN


def iterated(items):
    for item in set(items):
        return item


def named_and_iterated(items):
    names = {item for item in items}
    other = names | {"a"}
    return [name for name in other]


def returned(items):
    return {*items}


def passed_on(items):
    return asked(set(items))


def first_of(items):
    return next(iter({"a", "b", *items}))


def joined(items):
    return ",".join(frozenset(items))


def stored(box, items):
    box.items = set(items)


def global_iterated(x):
    return [x + item for item in KNOWN]


def iterated_or_not(items):
    names = set(
        items or "a")
    if not items:
        return len(names) + len(frozenset("bc"))
    return list(names), [
        each for each in {*items, "d"}]


def raised(items):
    if not items:
        raise ValueError(f"none of {set(items)}" + str({*items}))
    return len(items)


def raised_and_kept(items):
    raise ValueError(names := set(items)) from names


def handled(function):
    try:
        return function()
    except (TypeError, ValueError):
        return None


def handled_by_name(function):
    try:
        return function()
    except KeyError:
        return None
    except ValueError as error:
        return str(error)


class Handler:
    def __exit__(self, kind, error, traceback):
        self.error = error


def in_a_nested_function(items):
    def inner():
        return list(names)

    names = set(items)
    return inner()


def makers_asked(x: set, y: "list | set[str] | None" = None) -> frozenset:
    kind: set | None = None
    return isinstance(x, (list, set)) and issubclass(y, list | set) and x.__class__ in (set, frozenset) and kind


def keys_compared(a, b):
    return bool(a.keys() & b.keys()) and a.items() ^ b.items() == {1} and len(a) - len(b)


def made_by_another_name(items):
    maker = set
    return str(maker(items))


def made_by_a_dictionary(items, kind):
    return kind(set)[0]


def popped_of_keys(a, b):
    return (a.keys() & b.keys()).pop()


def text_of_items(a, b):
    return f"{a.items() - b.items()}"


def named_keys(a, b):
    some, others = a.keys(), b.keys()
    both = some & others
    return [name for name in both]


def named_keys_in_turn(a, b):
    some = a.keys()
    return [name for name in some & b.names]


def keys_in_their_own_place(a, b):
    some = a.keys()
    some &= b.names
    return list(some)


def keys_by_a_method(a, b):
    return list(a.keys().__and__(b.keys()))


def named_keys_compared(a, b):
    some = other = a.keys()
    return [name for name in some], list(other), len(some & b.names), some - b.names == {"a"}


def keys_given_away(a, b):
    return asked(a.keys()), a.keys()


def text_of_a_set(items):
    return "%s" % {*items} == "{'a'}"


def list_with_a_set(items):
    found = []
    found += set(items)
    return found == ["a", "b"]


def makes_more(items):
    kind = type(set(items))
    return kind(items) == 1


def type_compared(items):
    return type(set(items)) is set and type(KNOWN) == frozenset


LAST = None


def kept_in_a_global(items):
    global LAST
    LAST = set(items)


def around_a_variable():
    kept = None

    def keep(items):
        nonlocal kept
        kept = {*items}

    return keep


keep_outside = around_a_variable()


def read_as_a_local(items):
    names = set(items)
    return locals()["names"]


def kept_in_a_class(items):
    class Local:
        NAMES = set(items)

    return Local.NAMES


def imported_as_another_name():
    from somewhere import KNOWN as known

    return [item for item in known]


def imported():
    from somewhere import KNOWN

    return "a" in KNOWN


@pytest.mark.parametrize("function", [
    asked, filled_and_asked, comprehension_asked, sorted_first, compared, kept_and_compared, global_asked, makers_asked,
    keys_compared, type_compared, imported, named_keys_compared,
    least_and_greatest])
def test_a_set_that_is_only_asked_shows_no_order(function):
    assert not shows_order(function.__code__, frozenset(("KNOWN",)))


@pytest.mark.parametrize("function", [
    iterated, named_and_iterated, returned, passed_on, first_of, joined, stored, global_iterated, in_a_nested_function,
    made_by_another_name, made_by_a_dictionary, popped_of_keys, text_of_items, text_of_a_set, list_with_a_set, makes_more,
    named_keys_in_turn, keys_in_their_own_place, keys_by_a_method, first_by_a_key, least_of_two,
    kept_in_a_global, keep_outside, read_as_a_local, kept_in_a_class, imported_as_another_name])
def test_a_set_that_goes_elsewhere_may_show_its_order(function):
    assert shows_order(function.__code__, frozenset(("KNOWN",)))


def test_views_that_are_given_away_may_be_combined_elsewhere():
    assert not shows_order(keys_given_away.__code__)
    assert shows_order(keys_given_away.__code__, around=Around(combined=True))
    assert not shows_order(named_keys_compared.__code__, around=Around(combined=True))


@pytest.mark.parametrize("function", [
    iterated, made_by_another_name, made_by_a_dictionary, popped_of_keys, text_of_items, named_keys, keys_in_their_own_place,
    keys_by_a_method])
def test_a_set_is_made_without_being_named_too(function):
    assert makes_sets(function.__code__)


def test_what_is_raised_shows_an_order_where_somebody_looks_at_it():
    assert shows_order(raised.__code__) and not shows_order(raised.__code__, around=Around(raised=False))
    assert shows_order(raised_and_kept.__code__, around=Around(raised=False))
    assert not takes_exceptions(handled.__code__) and not takes_exceptions(raised.__code__)
    assert takes_exceptions(handled_by_name.__code__) and takes_exceptions(Handler.__exit__.__code__)


def run_places(function, *arguments):
    """Of every instruction that runs."""
    found, inside = set(), set(code_inside(function.__code__))

    def trace(frame, event, _):
        if frame.f_code not in inside:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            places = list(frame.f_code.co_positions())
            found.add(places[frame.f_lasti // 2])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return found


def test_what_does_not_run_shows_nothing():
    code = iterated_or_not.__code__
    assert shows_order(code)
    assert not shows_order(code, around=Around(run=run_places(iterated_or_not, [])))
    assert shows_order(code, around=Around(run=run_places(iterated_or_not, ["b"])))
    lines = {(line, *rest[:1], None, None) for line, *rest in run_places(iterated_or_not, [])}  # Without columns.
    assert not shows_order(code, around=Around(run=lines))


def test_of_code_without_its_source_nothing_is_known():
    made = {}
    exec("def asked(x):\n    return x in {1, 2}\n", made)
    assert shows_order(made["asked"].__code__)
    other = asked.__code__.replace(co_filename=__file__, co_code=iterated.__code__.co_code)
    assert shows_order(other)


class Holder:
    def __init__(self, names, items):
        self.names = set(names)
        self.__own = self.other = {*items}
        self.others = {"c"} | self.names

    def asked(self, x):
        return x in self.names and bool(self.__own)

    def passed_on(self):
        return self.names

    def in_turn(self):
        return [name for name in self.__own]

    def named_by_a_pattern(self):
        match self:
            case Holder(names=found):
                return found

    def changed(self, x):
        self.names.add(x)

    def put_together(self, x):
        self.names |= x

    def changed_under_another_name(self, x):
        names = self.names
        names |= x

    def copied_and_changed(self, x):
        names = self.names.copy()
        names.add(x)
        names |= {"d"}
        return x in names


NOT_TRACED = Around(traced=frozenset())


def test_a_set_kept_under_an_attribute_shows_where_the_attribute_is_read():
    kept = set()
    assert shows_order(Holder.__init__.__code__)
    assert not shows_order(Holder.__init__.__code__, frozenset(("names",)), around=NOT_TRACED._replace(kept=kept))
    assert kept == {"names", "_Holder__own", "other", "others"}
    assert not shows_order(Holder.asked.__code__, kept)
    assert shows_order(Holder.passed_on.__code__, kept) and shows_order(Holder.in_turn.__code__, kept)
    assert not shows_order(Holder.passed_on.__code__, {"__own"}) and not shows_order(Holder.in_turn.__code__, {"__own"})


def test_what_the_program_does_when_an_attribute_is_set_may_show_its_order():
    for own in ("__setattr__", "__set__", "others"):
        assert shows_order(Holder.__init__.__code__, around=NOT_TRACED._replace(kept=set(), own=frozenset((own,)))), own


@pytest.mark.parametrize("function", [Holder.changed, Holder.put_together, Holder.changed_under_another_name])
def test_traced_code_that_changes_a_set_of_others_may_show_its_order(function):
    """The second process gets its elements in the order of the first."""
    assert shows_order(function.__code__, frozenset(("names",)))
    assert not shows_order(function.__code__, frozenset(("names",)), around=NOT_TRACED)


def test_a_copy_is_not_the_set_of_others():
    assert not shows_order(Holder.copied_and_changed.__code__, frozenset(("names",)))


@pytest.mark.parametrize("expression, own, shown", [
    ("NAMES == x", "__eq__", True), ("NAMES in x", "__contains__", True), ("NAMES < x", "__gt__", True),
    ("x in NAMES", "__eq__", False), ("len(NAMES | x)", "__ror__", True), ("len(NAMES)", "len", True),
    ("sorted(NAMES)", "__lt__", True), ("x.isdisjoint(NAMES)", "isdisjoint", True),
    ("NAMES.isdisjoint(x)", "isdisjoint", False),
    ("len(x.union(NAMES))", "union", True), ("isinstance(NAMES, x)", "__instancecheck__", True)])
def test_what_the_program_defines_itself_may_show_an_order(tmp_path, expression, own, shown):
    path = tmp_path / "made.py"
    path.write_text(f"def asked(x):\n    return bool({expression})\n")
    made = {}
    exec(compile(path.read_text(), str(path), "exec"), made)
    code = made["asked"].__code__
    assert not shows_order(code, frozenset(("NAMES",)))
    assert shows_order(code, frozenset(("NAMES",)), around=Around(own=frozenset((own,)))) is shown


def shadowed(names):
    names = list(names)
    return [name for name in names]


def test_a_variable_is_no_attribute_of_that_name():
    assert not shows_order(shadowed.__code__, frozenset(("names",)))
    assert shows_order(shadowed.__code__, variables=frozenset(("names",)))


def evaluated_elsewhere(names, text):
    return eval(text, {}), vars(names), [name for name in sorted({*text})]


def evaluated_here(names, text):
    return eval(text)


def all_variables(names):
    return vars()


@pytest.mark.parametrize("function, shown", [
    (evaluated_elsewhere, False), (collections.namedtuple, False), (evaluated_here, True), (all_variables, True)])
def test_what_is_evaluated_sees_the_variables_that_it_is_not_given(function, shown):
    assert shows_order(function.__code__) is shown
