"""Values and graphs in words, and back."""

import collections
import functools
import json
import operator
import struct
import types

import pytest
import torch

from stoker.captures.premises.checks import matches
from stoker.captures.words import held
from stoker.captures.words.digests import code_digest
from stoker.captures.words.graphs import decode_eager, encode_eager, module_of
from stoker.captures.words.identity import Describer
from stoker.captures.words.orders import order_words
from stoker.captures.words.values import NotPortable, class_path, decode, encode, look_up


LOADS_ONE = (lambda: 1.5).__code__.co_code


def test_functions_of_installed_modules_are_their_names():
    for function in (collections.namedtuple, json.dumps, torch.nn.functional.relu):
        assert decode(json.loads(json.dumps(encode(function)))) is function
    assert encode(collections.namedtuple) == {"function": "collections:namedtuple"}


def test_functions_of_the_program_and_stand_ins_have_no_words(monkeypatch):
    @functools.wraps(collections.namedtuple)
    def stand_in(*args):
        return args

    with pytest.raises(NotPortable):
        encode(test_functions_of_installed_modules_are_their_names)
    with pytest.raises(NotPortable):
        encode(stand_in)
    original = collections.namedtuple
    monkeypatch.setattr(collections, "namedtuple", stand_in)
    with pytest.raises(NotPortable):
        encode(stand_in)  # It is under the name of one that is installed, and is the program's.
    with pytest.raises(NotPortable):
        encode(original)


def test_a_nan_keeps_its_sign_and_its_payload():
    bits = [struct.pack(">Q", word) for word in (0x7ff8 << 48, 0xfff8 << 48, (0x7ff8 << 48) + 5)]
    numbers = [struct.unpack(">d", each)[0] for each in bits]
    words = [encode(number) for number in numbers]
    assert [struct.pack(">d", decode(json.loads(json.dumps(each)))) for each in words] == bits
    assert len({code_digest((lambda: None).__code__.replace(co_code=LOADS_ONE, co_consts=(None, number))) for number in numbers}) == 3
    assert [matches("equals", number, words[0], None) for number in numbers] == [True, False, False]
    assert matches("equals", complex(0, numbers[1]), encode(complex(0, numbers[1])), None)


@pytest.mark.parametrize("words", [{"function": "collections:Counter"}, {"function": "collections:absent"}])
def test_what_is_no_function_is_refused(words):
    with pytest.raises(LookupError):
        decode(words)


def graph_with_a_graph(body):
    """while i > 0: i, x = i - 1, body(x), as a functional graph has it."""
    def region(returned):
        graph = torch.fx.Graph()
        graph.output(returned(graph, graph.placeholder("i"), graph.placeholder("x")))
        return torch.fx.GraphModule(torch.nn.Module(), graph)

    aten = torch.ops.aten
    graph, root = torch.fx.Graph(), torch.nn.Module()
    root.condition = region(lambda graph, i, x: graph.call_function(aten.gt.Scalar, (i, 0)))
    root.body = region(lambda graph, i, x: (
        graph.call_function(aten.sub.Tensor, (i, 1)), graph.call_function(body, (x,))))
    i, x = graph.placeholder("i"), graph.placeholder("x")
    functions = graph.get_attr("condition"), graph.get_attr("body")
    loop = graph.call_function(torch.ops.higher_order.while_loop, (*functions, (i, x), ()))
    graph.output([graph.call_function(operator.getitem, (loop, 1))])
    return torch.fx.GraphModule(root, graph)


def test_graphs_that_operators_run_come_back():
    gm = graph_with_a_graph(torch.ops.aten.sin.default)
    text = encode_eager(gm)
    loaded = module_of(decode_eager(text, torch.device("cpu")), 2)
    x = torch.randn(3)
    for trips in range(3):
        expected, found = (module(torch.tensor(trips), x) for module in (gm, loaded))
        assert torch.equal(expected[0], found[0])
    assert encode_eager(loaded) == text != encode_eager(graph_with_a_graph(torch.ops.aten.cos.default))


def test_what_a_graph_in_a_graph_has_no_words_for_has_none_outside():
    with pytest.raises(NotPortable, match="an eager function that is no operator"):
        encode_eager(graph_with_a_graph(torch.sin))


def test_a_class_of_an_extension_that_names_no_module_is_found_where_the_extension_holds_it():
    from safetensors import _safetensors_rust as extension

    path = class_path(extension.TensorSpec)
    assert extension.TensorSpec.__module__ == "builtins" and look_up(path) is extension.TensorSpec
    assert Describer()(extension.TensorSpec)[1] == path
    assert class_path(int) == "builtins:int"
    with pytest.raises(NotPortable):
        class_path(type("TensorSpec", (), {"__module__": "builtins"}))


def test_nobody_looks_through_all_modules_for_what_python_was_built_with():
    asked = held._extension_of.cache_info().misses
    for cls in (int, type(None), types.FunctionType, types.CodeType, type(iter([])), torch.Size):
        assert held.module_of_class(cls) == cls.__module__
    assert held._extension_of.cache_info().misses == asked


@pytest.mark.parametrize("kind", (int, float, complex))
def test_sets_of_numbers_are_in_order_and_no_others(kind):
    first, second = set(map(kind, (0, 8))), set(map(kind, (8, 0)))
    assert list(first) != list(second) and encode(first) != encode(second)
    assert decode(encode(second)) == second
    assert encode({"b", "a"}) == {"set": ["a", "b"]}


def in_two_orders():
    """Two sets of the same texts."""
    names = [f"n{place}" for place in range(40)]
    first, second = set(names), set()
    for name in reversed(names):
        second.add(name)
    assert first == second and list(first) != list(second)
    return first, second


def test_the_order_of_a_set_of_texts_counts_where_it_may_show():
    first, second = in_two_orders()
    assert Describer()(first) == Describer()(second)
    assert Describer(orders=True)(first) != Describer(orders=True)(second)
    assert order_words([first]) != order_words([second]) and order_words({object(), object()}) == []


def test_the_order_of_a_literal_counts_where_it_may_show():
    code = compile("x in {'a', 'b', 'c'}", "names", "eval")
    one, other = (code.replace(co_consts=(frozenset(names),)) for names in in_two_orders())
    assert list(*one.co_consts) != list(*other.co_consts)
    assert code_digest(one) == code_digest(other) and code_digest(one, True) != code_digest(other, True)
