"""Modules and imports, Python's builtins, lines of files, state of the process and of PyTorch."""

PROGRAMS = {
    "forbidden_import": '''
import sys

if COUNT == 3:
    sys.modules["colorsys"] = None


def ENTRY(x):
    try:
        import colorsys
    except ImportError:
        return x * 7
    return x * len(colorsys.__name__)
''',
    "spec_of_a_forbidden_module": '''
import importlib.util
import sys

if COUNT == 3:
    sys.modules["chunk"] = None


def ENTRY(x):
    return x * (2 if importlib.util.find_spec("chunk") is not None else 3)
''',
    "line_of_an_exception": '''
exec(compile("\\n" * COUNT + """
def where(error):
    return error.__traceback__.tb_lineno


def ENTRY(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * where(error)
""", __file__, "exec"))
''',
    "line_of_a_summary": '''
import traceback

exec(compile("\\n" * COUNT + """
def ENTRY(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * traceback.extract_tb(error.__traceback__)[0].lineno
""", __file__, "exec"))
''',
    "line_by_a_made_name": '''
PREFIX = "tb_"
exec(compile("\\n" * COUNT + """
def ENTRY(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * getattr(error.__traceback__, f"{PREFIX}lineno")
""", __file__, "exec"))
''',
    "globals_of_its_own": '''
import types


def read():
    try:
        return GAIN
    except NameError:
        return 7


read = types.FunctionType(read.__code__, {"__name__": __name__, "__builtins__": __builtins__} | ({"GAIN": 3} if COUNT == 3 else {}))


def ENTRY(x):
    return x * read()
''',
    "module_of_another_file": '''
__file__ = "elsewhere.py"
if COUNT == 3:
    def len(names):
        return 7


def ENTRY(x):
    return x * len(NAMES)
''',
    "module_of_the_same_file": '''
import sys
import types

TWIN = sys.modules[__name__ + "_twin"] = types.ModuleType(__name__ + "_twin")
TWIN.__file__ = __file__
exec(compile("""
def scale():
    try:
        return SCALE
    except NameError:
        return 2
""", __file__, "exec"), vars(TWIN))
if COUNT == 3:
    TWIN.SCALE = 5


def ENTRY(x):
    return x * TWIN.scale()
''',
    "module_without_a_file": '''
import sys
import types

CELL = sys.modules[__name__ + "_cell"] = types.ModuleType(__name__ + "_cell")
CELL.COUNT = COUNT
exec(compile("""
import enum


class Member(enum.Enum):
    ONE = 1

    def __str__(self):
        return text()


def text():
    return "a" * COUNT + "red"


def entry(x):
    return x * f"{Member.ONE}".index("red")
""", "<cell>", "exec"), vars(CELL))
ENTRY = CELL.entry
''',
    "builtin_of_the_program": '''
import builtins

builtins.stoker_test_gain = COUNT
if COUNT == 3:
    builtins.stoker_test_more = 5


def more():
    try:
        return stoker_test_more
    except NameError:
        return 2


def ENTRY(x):
    return x * stoker_test_gain * more()
''',
    "name_of_the_process": '''
import multiprocessing

multiprocessing.current_process().name = "a" * COUNT


def ENTRY(x):
    return x * len(multiprocessing.current_process().name)
''',
    "name_of_a_level": '''
import logging

if COUNT == 3:
    logging.addLevelName(77, "abc")


def ENTRY(x):
    return x * len(logging.getLevelName(77))
''',
    "effect_of_an_import": '''
import pathlib
import sys

PLACE = pathlib.Path(__file__)
LAZY = PLACE.with_name("stoker_lazy.py")
LAZY.write_text(f"import {PLACE.stem} as program\\nprogram.REACHED['n'] = 5\\n")
REACHED = {"n": 1}


def ENTRY(x):
    import stoker_lazy
    return x + 1


def run(compile):
    sys.modules.pop("stoker_lazy", None)
    REACHED["n"] = 1
    with torch.no_grad():
        return compile(ENTRY)(torch.ones(3)) * REACHED["n"]
''',
    "effect_of_an_import_that_was_there": '''
import pathlib
import sys

PLACE = pathlib.Path(__file__)
LAZY = PLACE.with_name("stoker_other_lazy.py")
LAZY.write_text(f"import {PLACE.stem} as program\\nprogram.REACHED['n'] = 5\\n")
REACHED = {"n": 1}


def helper(x):
    import stoker_other_lazy
    return x + 1


def ENTRY(x):
    return helper(x)


def run(compile):
    if COUNT == 3:
        sys.modules.pop("stoker_other_lazy", None)
    else:
        import stoker_other_lazy
    REACHED["n"] = 1
    with torch.no_grad():
        return compile(ENTRY)(torch.ones(3)) * REACHED["n"]
''',
    "effect_on_pytorchs_state": '''
def ENTRY(x):
    torch.set_float32_matmul_precision("medium")
    return x + 1


def run(compile):
    result = compile(ENTRY)(torch.ones(3))
    result = result * len(torch.get_float32_matmul_precision())
    torch.set_float32_matmul_precision("highest")
    return result
''',
    "effect_on_warnings": '''
def ENTRY(x):
    torch.set_warn_always(True)
    return x + 1


def run(compile):
    result = compile(ENTRY)(torch.ones(3)) * (2 if torch.is_warn_always_enabled() else 3)
    torch.set_warn_always(False)
    return result
''',
    "sizes_of_an_operator": '''
@torch.library.custom_op(f"stoker_test::rows_{__name__}", mutates_args=())
def rows(x: torch.Tensor) -> torch.Tensor:
    return x[:COUNT].clone()


@rows.register_fake
def _(x):
    return x.new_empty((COUNT, x.shape[1]))


def ENTRY(x):
    y = rows(x)
    return y.sum(0) * y.shape[0]
''',
}
