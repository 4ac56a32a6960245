"""What no guard of Dynamo's tells, in words: keys of registries, methods of C classes, fields of named tuples, imports."""

import builtins
import collections
import sys
import types

import pytest

pytest.importorskip("torch")

from stoker.captures.bytecode.reads import ALL, imports_of
from stoker.captures.premises import imported
from stoker.captures.premises.checks import keys_of, own_keys_of
from stoker.captures.record import record
from stoker.captures.words.identity import Describer
from stoker.captures.words.values import NotPortable


class Own:
    __slots__ = ("a", "b")


def test_keys_of_a_view_of_a_dictionary_are_its_own():
    assert keys_of(types.MappingProxyType({"a": 1})) == ["a"]
    with pytest.raises(NotPortable):
        keys_of(types.MappingProxyType(collections.UserDict(a=1)))


def test_what_a_package_says_of_its_own_classes_does_not_count():
    def reduce(value):
        return type(value), ()

    known = {collections.OrderedDict: collections.namedtuple, complex: reduce}
    assert own_keys_of(known) == [["class", "builtins", "complex"]]
    assert len(own_keys_of(known | {Own: collections.namedtuple})) == 2


@pytest.mark.parametrize("one, other", [
    (Own.a, Own.b), ((5).__add__, (5).__mul__), ((5).__add__, (6).__add__), (str.upper, str.lower), (int.real, int.imag)])
def test_methods_of_classes_in_c_are_told_apart(one, other):
    assert Describer(ALL)(one) != Describer(ALL)(other)
    assert Describer(ALL)(one) == Describer(ALL)(one)


def test_fields_of_a_named_tuple_are_told_apart_by_their_place():
    pair = collections.namedtuple("Pair", "a b")
    first, second = (type("Named", (pair,), {"__module__": __name__, "first": field}) for field in (pair.a, pair.b))
    assert Describer().class_words(first) != Describer().class_words(second)


def _importing():
    import json
    import json.decoder as decoder
    return json, decoder


def test_imports_count_where_code_came_to_them():
    code = _importing.__code__
    assert imports_of(code, "") == {"json", "json.decoder"}
    first = {positions for positions in code.co_positions() if positions[0] == code.co_firstlineno + 1}
    assert imports_of(code, "", first) == {"json"}
    assert imports_of(code, "", frozenset()) == set()


def test_a_packages_module_is_imported_and_a_programs_is_not(monkeypatch):
    monkeypatch.delitem(sys.modules, "this_module_is_not_there", raising=False)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    words = [["colorsys", "package"]]
    assert imported.first_difference(words) is None and "colorsys" not in sys.modules
    assert imported.missing_of(words) == ["colorsys"]
    assert imported.import_all(["colorsys"]) is None and "colorsys" in sys.modules
    assert imported.first_difference([["colorsys", "program"]]) is None and imported.missing_of(words) == []
    assert imported.first_difference([["this_module_is_not_there", "program"]])[0] == "module this_module_is_not_there"
    assert imported.import_all(["this_module_is_not_there"])[0] == "module this_module_is_not_there"


def test_an_import_that_is_forbidden_or_replaced_is_a_difference(monkeypatch):
    words = [["xml.dom.minidom", "package"]]
    assert imported.first_difference(words) is None
    monkeypatch.setitem(sys.modules, "xml.dom", None)
    assert imported.first_difference(words)[0] == "module xml.dom"
    monkeypatch.delitem(sys.modules, "xml.dom")
    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", lambda *args, **kwargs: original(*args, **kwargs))
    assert imported.first_difference(words)[0] == "builtins.__import__"
    assert imported.first_difference(None) is None


@pytest.mark.parametrize("texts", [(repr(object()),), ("a", f"{imports_of}!")])
def test_texts_with_addresses_keep_a_capture_here(texts):
    code = compile("x = 'at home'", "<text>", "exec")
    record._require_no_addresses(code, ("at home", "0x12"))
    with pytest.raises(NotPortable, match="address"):
        record._require_no_addresses(code, texts)
    with pytest.raises(NotPortable, match="address"):
        record._require_no_addresses(compile(f"x = {texts[-1]!r}", "<text>", "exec"), ())
