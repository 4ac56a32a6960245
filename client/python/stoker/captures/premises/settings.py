"""What Python's own functions compute by besides their arguments, and no object holds: settings of the process, codecs.

Dynamo runs these functions where their arguments are constants.
"""

import codecs
import encodings
import locale
import sys
import types

from ...base.signals import let_through
from ..bytecode.reads import code_inside
from ..words.held import held, module_name_of
from ..words.installed import is_installed_file
from ..words.plain_data import own_attributes
from ..words.values import NotPortable

# Whose functions in Python do nothing else.
_CALL_C = frozenset((
    "ascii", "iso8859-1", "utf-7", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"))
_IS_OF_TEXT = "_is_text_encoding"  # Python refuses to encode text with what is not.
_CODING = frozenset(("encode", "decode", "bytes", "bytearray"))
_OF_CODECS = ("codecs", "_codecs")
_CATEGORIES = [
    getattr(locale, name) for name in ("LC_COLLATE", "LC_MONETARY", "LC_NUMERIC", "LC_TIME")]  # Of LC_CTYPE nothing asks.
_SMALL, _ONE, _HALF_A_UNIT = 1e-160, 1.0, 2.0 ** -53


def settings():
    """JSON: digits of a number as a text, the encoding of files, the locale, how floats are rounded and whether small ones
    become zero."""
    return [
        sys.get_int_max_str_digits(), sys.flags.utf8_mode, [locale.setlocale(category) for category in _CATEGORIES],
        [_SMALL * _SMALL > 0, _ONE + _HALF_A_UNIT / 2 > _ONE, -_ONE - _HALF_A_UNIT / 2 < -_ONE,
         _ONE + 1.5 * _HALF_A_UNIT > _ONE]]


def codecs_of(reached, texts, meets_bytes):
    """[[text, which codec it names, what handles errors by that name]], where code may encode. NotPortable where one is the
    program's own. `meets_bytes`: of the trace."""
    if not (meets_bytes or any(_may_code(each) for each in reached.of_programs) or any(
            module_name_of(each).startswith(_OF_CODECS) for each in reached.values)):
        return []
    return [[text, *_words_of(text)] for text in sorted(texts) if text]


def first_difference(expected_settings, expected_codecs):
    """(what, expected, found) of the first one that is not what it was, or None."""
    found = settings()
    if found != expected_settings:
        return "settings that Python computes by", str(expected_settings), str(found)
    for text, *expected in expected_codecs:
        if (found := _words_of(text)) != expected:
            return f"the codec {text}", str(expected), str(found)
    return None


def _may_code(code):
    """Text of bytes with the name of a codec, `str(b"...", "latin1")`, needs no name that says so."""
    parts = list(code_inside(code))
    return any(not _CODING.isdisjoint(each.co_names) for each in parts) or any(
        "str" in each.co_names for each in parts) and any(type(value) is bytes for each in parts for value in each.co_consts)


def _words_of(text):
    """The names of a codec of Python's, and of what handles errors; None where there is none by that name."""
    codec, handler = _looked_up(codecs.lookup, text), _looked_up(codecs.lookup_error, text)
    if codec is not None and not _is_of_python(codec):
        raise NotPortable(f"a codec of the program's, or one that Python's own code computes with tables, {text}")
    return [None if codec is None else codec.name, None if handler is None else _handler_words(handler, text)]


def _looked_up(look_up, text):
    try:
        return look_up(text)
    except (LookupError, ValueError, ImportError) as error:
        let_through(error)
        return None


def _is_of_python(codec):
    """Does it work as the one in C does that has the name which it says? Any name may be given to it; tables and functions that
    others read may be replaced."""
    if type(codec) is not codecs.CodecInfo or not isinstance(codec.name, str):
        return False
    if codec.name not in _CALL_C and any(isinstance(held(each, "__func__") or each, types.FunctionType) for each in codec[:2]):
        return False
    own = encodings.search_function(codec.name)
    return own is not None and held(codec, _IS_OF_TEXT) is held(own, _IS_OF_TEXT) and all(_is_same(*pair) and _is_installed(pair[1]) for pair in zip(codec[:2], own[:2]))


def _is_same(function, own):
    """Each codec that is looked up anew has methods of an object of its own, which holds nothing."""
    if type(function) is not types.MethodType or type(own) is not types.MethodType:
        return function == own
    holders = function.__self__, own.__self__
    return function.__func__ is own.__func__ and type(holders[0]) is type(holders[1]) and (
        not any(own_attributes(holder) for holder in holders))


def _handler_words(handler, text):
    if type(handler) is types.BuiltinFunctionType and type(handler.__self__) in (type(None), types.ModuleType):
        return f"{module_name_of(handler)}:{handler.__name__}"
    raise NotPortable(f"what handles errors of codecs is the program's, {text}")


def _is_installed(function):
    function = held(function, "__func__") or function
    code = held(function, "__code__")
    if isinstance(code, types.CodeType):
        return is_installed_file(code.co_filename)
    owner = held(function, "__self__")
    module = module_name_of(function) or (module_name_of(owner if isinstance(owner, types.ModuleType) else type(owner)))
    return module.partition(".")[0] in sys.stdlib_module_names
