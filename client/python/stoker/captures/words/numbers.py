"""Floats in words: bit for bit, for a NaN has a sign and a payload, which its text does not tell."""

import struct

_NAN = "nan "


def float_words(value):
    return value.hex() if value == value else _NAN + struct.pack(">d", value).hex()


def float_of(words):
    """Raises ValueError or struct.error on what float_words() did not make."""
    if not words.startswith(_NAN):
        return float.fromhex(words)
    value, = struct.unpack(">d", bytes.fromhex(words.removeprefix(_NAN)))
    return value


def is_nan(value):
    """Or a complex number that holds one: it equals nothing."""
    return type(value) in (float, complex) and value != value
