"""NumPy's arrays, scalars and types of elements, and what else Dynamo takes for constants, in words."""

import re

import numpy as np
import pytest
import torch

from stoker.captures.words.arrays import array_as_tensor, array_words
from stoker.captures.words.values import NotPortable, decode, encode


@pytest.mark.parametrize("value", [
    torch.finfo(torch.bfloat16), torch.iinfo(torch.int16), np.dtype("f4"), int | None, int | str, re.compile("a+", re.IGNORECASE), re.compile(b"a")])
def test_limits_types_of_elements_patterns_and_unions_come_back(value):
    found = decode(encode(value))
    assert type(found) is type(value) and repr(found) == repr(value)


def test_a_type_of_elements_that_a_program_made_has_no_words():
    for value in (np.dtype([("a", "f4")]), np.dtype(">f4"), np.dtype(object), np.dtype("f4", metadata={"a": 1})):
        with pytest.raises(NotPortable):
            encode(value)


def test_types_of_elements_that_are_two_have_words_of_their_own():
    every = [np.dtype(char) for char in np.typecodes["All"] if char != "O"]
    every += [each for each in map(np.dtype, ("c", "S1", "S3", "U2", "V4", "M8[ns]", "m8[D]")) if each.isbuiltin == 1]
    assert len({repr(encode(each)) for each in every}) == len({(each.num, each.char, each.str) for each in every}) > 20
    for each in every:
        found = decode(encode(each))
        assert found == each and (found.num, found.char, found.type) == (each.num, each.char, each.type)
    with pytest.raises(NotPortable):
        encode(np.dtypes.StringDType())


def test_functions_of_numpy_are_their_names():
    for function in (np.add, np.mean, np.linalg.norm):
        assert decode(encode(function)) is function
    for other in (np.frompyfunc(abs, 1, 1), np.vectorize(abs)):
        with pytest.raises(NotPortable):
            encode(other)


def test_arrays_are_tensors_of_their_memory_and_have_words_by_value():
    values = np.arange(4.0)
    assert array_as_tensor(values).data_ptr() == values.ctypes.data
    assert array_as_tensor(np.float32(2)).dtype == torch.float32
    for other in (2.0, [1.0], np.matrix([[1.0]])):
        with pytest.raises(TypeError):
            array_as_tensor(other)
    assert array_words(values) == array_words(values.copy()) != array_words(values + 1)
    assert array_words(np.float32(2)) != array_words(np.float64(2))
    with pytest.raises(NotPortable):
        array_words(np.zeros(10_000))
