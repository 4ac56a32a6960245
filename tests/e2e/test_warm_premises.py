"""What Dynamo folds into a trace without a guard, changed between two processes: the second one is never wrong.

As test_warm_table.py; each row starts warm where nothing of it is changed.
"""

import torch
from e2e import identity_programs, unseen
from e2e.premises_program import MODULE
from e2e.test_warm_table import SETUP, run_rows, setup

CHANGES = {
    "class_data": ("SCALE = 2.0", "SCALE = 3.0"),
    "class_data_patched": setup("Config.SCALE = 2.5"),
    "class_list": ("STEPS = [1, 2]", "STEPS = [1, 2, 3]"),
    "class_dictionary": ('TABLE = {"first": 1.0}', 'TABLE = {"first": 4.0}'),
    "nested_class": ("DEPTH = 3", "DEPTH = 4"),
    "data_of_type_of_self": ("RATE = 0.5", "RATE = 0.75"),
    "data_of_a_parent": ("LEVEL = 1.5", "LEVEL = 2.5"),
    "data_of_a_parent_hidden": ("    # NET\n", "    LEVEL = 9.0\n"),
    "metaclass_data": ("SIZE = 2", "SIZE = 4"),
    "metaclass_method": ('return hasattr(value, "is_special")', "return True"),
    "metaclass_answer": setup("Thing.is_special = True"),
    "enum_value": ("FAST = 2", "FAST = 4"),
    "enum_member": ("    # KIND\n", "    THIRD = 3\n"),
    "enum_property": ("self.value * 1.5", "self.value * 2.5"),
    "attribute_there": setup("model.extra = 1"),
    "class_attribute_there": setup("Config.MORE = 1"),
    "module_attribute_there": ("# HEADER", "EXTRA = 1"),
    "in_own_dictionary": setup("model.flag = None"),
    "annotation": ("    note: int = 1\n", "    note: int = 1\n    other: int = 1\n"),
    "registered_class": ("class Options:", "class Options:\n    pass\n\n\nShape.register(Thing)\n\n\n@dataclasses.dataclass\nclass Options:"),
    "inherited_data": ("bonus = 0.25", "bonus = 0.5"),
    "variable_there": ("THIS = sys", "os.environ['STOKER_TEST_PREMISE'] = '3.0'\nTHIS = sys"),
    "wrapper_default": ("extra=0.5", "extra=0.75"),
    "wrapper_source": ("return function(x) + extra", "return function(x) - extra"),
    "function_attribute": ("    return x + getattr(plain, \"more\", 0.125)\n", "    return x + getattr(plain, \"more\", 0.125)\n\n\nplain.more = 5.0\n"),
    "descriptor_data": ("offset = Offset(0.5)", "offset = Offset(0.75)"),
    "descriptor_source": ("return self.amount", "return self.amount * 2"),
    "bound_method_attribute": ("self.step = Steps().one", "self.step = Steps().two"),
    "bound_method_global": ("STEP = Steps().one", "STEP = Steps().two"),
    "function_attribute_of_object": ("self.act = torch.tanh", "self.act = torch.sigmoid"),
    "function_in_dictionary": ('TABLE = {"act": torch.relu}', 'TABLE = {"act": torch.sigmoid}'),
    "instance_of_class": ("settings = Options()", "settings = Options(2.5)"),
    "dataclass_default": ("gain: float = 1.25", "gain: float = 1.5"),
    "namedtuple_default": ("defaults=(0.5,)", "defaults=(0.75,)"),
    "builtin_hidden": ("# HEADER", "def max(a, b):\n    return 17"),
    "builtin_hidden_later": setup("THIS.abs = lambda x: 19"),
    "constant_function": (SETUP, "    entry = constants\n"),
    "constant_function_of_the_environment": (SETUP, "    entry = constants_of_calls\n"),
    "constant_function_of_objects": (SETUP, "    entry = constants_without_words\n"),
    "constant_function_of_another_type": (SETUP, "    entry = constants_as_numbers\n"),
    "set_of_another_type": (SETUP, "    entry = of_a_set_of_numbers\n"),
    "set_without": (SETUP, "    entry = of_chosen\n"),
    "set_with": (SETUP, "    entry = of_chosen\n"),
    "shared_object": (SETUP, "    entry = Shares()\n"),
    "function_in_graph": (SETUP, "    entry = inside\n"),
    "dictionary_order": (SETUP, "    entry = in_order\n"),
    "set_order": (SETUP, "    entry = of_a_set\n"),
    "class_set_order": (SETUP, "    entry = of_a_class_set\n"),
    "packages_set_order": (SETUP, "    entry = of_a_packages_set\n"),
    "default_set_order": (SETUP, "    entry = of_a_default_set\n"),
    "set_order_in_a_tuple": (SETUP, "    entry = of_a_set_in_a_tuple\n"),
    "set_order_of_a_member": (SETUP, "    entry = of_a_set_of_a_member\n"),
    "set_order_of_a_member_by_key": (SETUP, "    entry = of_a_member_by_its_key\n"),
    "set_order_beyond_a_break": (SETUP, "    entry = PACKAGE.broken\n"),
    "set_order_of_an_attribute": (SETUP, "    entry = InTurn()\n"),
    "set_order_of_a_private_attribute": (SETUP, "    entry = OwnInTurn()\n"),
    "set_order_of_an_attribute_by_a_setter": (SETUP, "    entry = KeepsChosen()\n"),
    "set_order_of_an_attribute_by_another_name": (SETUP, "    entry = of_an_attribute_by_another_name\n"),
    "set_order_of_a_slot_by_another_name": (SETUP, "    entry = of_a_slot_by_another_name\n"),
    "set_order_of_a_pattern": (SETUP, "    entry = of_a_pattern\n"),
    "set_order_of_a_variable_by_text": (SETUP, "    entry = of_a_variable_by_text\n"),
    "set_order_of_what_is_shared": (SETUP, "    entry = SharesNames()\n"),
    "set_order_when_changed": (SETUP, "    entry = of_changed_colors\n"),
    "set_order_when_kept": (SETUP, "    entry = of_kept_colors\n"),
    "numbers_in_turn": (SETUP, "    entry = of_places\n"),
    "literal_numbers_in_turn": (SETUP, "    entry = of_literal_places\n"),
    "fractions_in_turn": (SETUP, "    entry = of_tenths\n"),
    "members_numbers_in_turn": (SETUP, "    entry = of_a_members_places\n"),
    "hash_by_text": (SETUP, "    entry = of_a_hash_by_text\n"),
    "member_as_number": (SETUP, "    entry = of_a_member\n"),
    "member_as_text": (SETUP, "    entry = of_a_member_in_a_list\n"),
    "int_method": (SETUP, "    entry = of_a_kind_of_int\n"),
    "int_value": (SETUP, "    entry = of_a_kind_of_int\n"),
    "missing_key": (SETUP, "    entry = missing_key\n"),
    "missing_key_inside": (SETUP, "    entry = missing_key_inside\n"),
    "missing_key_suppressed": (SETUP, "    entry = missing_key_suppressed\n"),
    "missing_key_asked": (SETUP, "    entry = missing_key_asked\n"),
    "missing_element": (SETUP, "    entry = missing_element\n"),
    "missing_in_a_pattern": (SETUP, "    entry = missing_in_a_pattern\n"),
    "text_of_a_dictionary": (SETUP, "    entry = text_of_a_dictionary\n"),
    "text_of_a_dictionary_in_order": (SETUP, "    entry = text_of_a_dictionary\n\n"),
    "text_of_a_namespace": (SETUP, "    entry = text_of_a_namespace\n"),
    "host": (SETUP, "    entry = of_a_host\n"),
    "protocol": (SETUP, "    entry = of_a_protocol\n"),
    "missing_in_a_slot": (SETUP, "    entry = missing_in_a_slot\n"),
    "object_as_constant": (SETUP, "    entry = of_an_object_as_constant\n"),
    "class_of_an_object_as_constant": (SETUP, "    entry = of_an_object_as_constant\n"),
    "function_that_is_not_traced": (SETUP, "    entry = of_a_function_that_is_not_traced\n"),
    "compiled_pattern": (SETUP, "    entry = of_a_compiled_pattern\n"),
    "limits": (SETUP, "    entry = of_limits\n"),
    "type_of_elements": (SETUP, "    entry = of_a_type_of_elements\n"),
    "number_of_another_kind": (SETUP, "    entry = of_a_numpy_number\n"),
    "matrix_in_place_of_an_array": (SETUP, "    entry = of_an_array\n"),
    "union": (SETUP, "    entry = of_a_union\n"),
}

# These may start warm: what changed is noticed when it runs. An operator gives two rows where it says three.
NOTICED = {"operator_of_another_shape": ("ROWS_GIVEN = 3", "ROWS_GIVEN = 2")}

# Entries that are functions: what the second process changes, (old, new).
OF_FUNCTIONS = {
    "constant_function": ("return 1.5", "return 2.5"),
    "constant_function_of_the_environment": ("# HEADER", "os.environ['STOKER_TEST_CONSTANT'] = '5.0'"),
    "constant_function_of_objects": ('"gain": [1.5', '"gain": [2.5'),
    "constant_function_of_another_type": ("return (1, 2.0)", "return (True, 2.0)"),
    "set_of_another_type": ("NUMBERS = {1}", "NUMBERS = {True}"),
    "set_without": ("CHOICES = {7, 8}", "CHOICES = {8}"),
    "set_with": ("CHOICES = {7, 8}", "CHOICES = {7, 8, 9}"),
    "shared_object": ("SHARING.table = SHARED", "SHARING.table = {'gain': 3.0}"),
    "function_in_graph": ("return x * 1.5\n", "return x * 2.5\n"),
    "dictionary_order": ("\n\nclass Net(", "\nORDER.move_to_end('a')\n\n\nclass Net("),
    "set_order": ("# HEADER", "# HEADER"),  # The second process has another seed of hashes.
    "class_set_order": ("# HEADER", "# HEADER"),
    "packages_set_order": ("# HEADER", "# HEADER"),
    "default_set_order": ("# HEADER", "# HEADER"),
    "set_order_in_a_tuple": ("# HEADER", "# HEADER"),
    "set_order_of_a_member": ("# HEADER", "# HEADER"),
    "set_order_of_a_member_by_key": ("# HEADER", "# HEADER"),
    "set_order_beyond_a_break": ("# HEADER", "# HEADER"),
    "set_order_of_an_attribute": ("# HEADER", "# HEADER"),
    "set_order_of_a_private_attribute": ("# HEADER", "# HEADER"),
    "set_order_of_an_attribute_by_a_setter": ("# HEADER", "# HEADER"),
    "set_order_of_an_attribute_by_another_name": ("# HEADER", "# HEADER"),
    "set_order_of_a_slot_by_another_name": ("# HEADER", "# HEADER"),
    "set_order_of_a_pattern": ("# HEADER", "# HEADER"),
    "set_order_of_a_variable_by_text": ("# HEADER", "# HEADER"),
    "set_order_of_what_is_shared": ("# HEADER", "# HEADER"),
    "set_order_when_changed": ("# HEADER", "# HEADER"),
    "set_order_when_kept": ("# HEADER", "# HEADER"),
    "hash_by_text": ("# HEADER", "# HEADER"),
    "numbers_in_turn": ("PLACES = {0, 8}", "PLACES = {8, 0}"),
    "literal_numbers_in_turn": ("{1, 9, 17}", "{17, 9, 1}"),
    "fractions_in_turn": ("{0.0, 8.0}", "{8.0, 0.0}"),
    "members_numbers_in_turn": ("frozenset((8, 16))", "frozenset((16, 8))"),
    "member_as_number": ("SMALL = 1", "SMALL = 4"),
    "member_as_text": ('FIRST = "first"', 'FIRST = "other"'),
    "int_method": ("int(self) * 2", "int(self) * 5"),
    "int_value": ("COUNT = Count(3)", "COUNT = Count(4)"),
    "missing_key": ("KEYS = {}", 'KEYS = {"gain": 3.0}'),
    "missing_key_inside": ('"inner": {}', '"inner": {"gain": 3.0}'),
    "missing_key_suppressed": ("KEYS = {}", 'KEYS = {"gain": 3.0}'),
    "missing_key_asked": ("self.known = {}", 'self.known = {"gain": 3.0}'),
    "missing_element": ('ELEMENTS = {"some"}', 'ELEMENTS = {"some", "gain"}'),
    "missing_in_a_pattern": ('GAINS = {"gain": 2.0}', 'GAINS = {"gain": 2.0, "bias": 3.0}'),
    "text_of_a_dictionary": ('"bias": 22}', '"bias": 22, "more": 3}'),
    "text_of_a_dictionary_in_order": ('{"gain": 1, "bias": 22}', '{"bias": 22, "gain": 1}'),
    "text_of_a_namespace": ("Namespace(gain=1)", "Namespace(gain=1, bias=2)"),
    "host": ("# HEADER", "platform._uname_cache = platform.uname()._replace(node='another host')"),
    "protocol": ("PLAIN = Plain()", "PLAIN = Plain()\nPLAIN.scale = 1"),
    "missing_in_a_slot": ("SLOTTED = Slotted()", "SLOTTED = Slotted()\nSLOTTED.amount = 3.0"),
    "object_as_constant": ('{"first": 1.5}', '{"first": 2.5}'),
    "class_of_an_object_as_constant": ('return x * self.weights["first"]', 'return x + self.weights["first"]'),
    "function_that_is_not_traced": ('{"inner": {"weight": 2.0}}', '{"inner": {"weight": 3.0}}'),
    "compiled_pattern": ('re.compile("a+")', 're.compile("a+b")'),
    "limits": ("torch.finfo(torch.float32)", "torch.finfo(torch.float16)"),
    "type_of_elements": ('np.dtype("f4")', 'np.dtype("f8")'),
    "number_of_another_kind": ("np.float64(1.5)", "2.5"),
    "matrix_in_place_of_an_array": ('np.array([[1.0, 2.0], [3.0, 4.0]], "f4")', 'np.matrix([[1.0, 2.0], [3.0, 4.0]], "f4")'),
    "union": ("int | None", "str | None"),
}

INDIFFERENT = {
    "nothing": ("# HEADER", "# HEADER"),
    "other_class": ("# HEADER", "class Unrelated:\n    SCALE = 5.0"),
    "unread_class_data": ("DEPTH = 3", "DEPTH = 3\n        UNREAD = 5"),
    "unread_attribute": setup("model.unread = 5"),
    "asked_set": (SETUP, "    entry = asked_set\n"),
    "asked_set_of_an_attribute": (SETUP, "    entry = Chosen()\n"),
    "packages_set_not_made": (SETUP, "    entry = of_no_set_of_a_package\n"),
    "constant_nothing": (SETUP, "    entry = constants\n"),
    "constant_calls_nothing": (SETUP, "    entry = constants_of_scales\n"),
    "constant_beyond_a_break": (SETUP, "    entry = constant_beyond_a_break\n"),
    "shared_nothing": (SETUP, "    entry = Shares()\n"),
    "set_nothing": (SETUP, "    entry = of_chosen\n"),
    "int_nothing": (SETUP, "    entry = of_a_kind_of_int\n"),
    "member_nothing": (SETUP, "    entry = of_a_member\n"),
    "missing_key_nothing": (SETUP, "    entry = missing_key\n"),
    "pattern_nothing": (SETUP, "    entry = of_a_compiled_pattern\n"),
    "limits_nothing": (SETUP, "    entry = of_limits\n"),
    "elements_nothing": (SETUP, "    entry = of_a_type_of_elements\n"),
    "number_nothing": (SETUP, "    entry = of_a_numpy_number\n"),
    "array_nothing": (SETUP, "    entry = of_an_array\n"),
    "union_nothing": (SETUP, "    entry = of_a_union\n"),
    "unread_variable": ("# HEADER", "os.environ['STOKER_TEST_UNREAD'] = '3.0'"),
}

# Of these an older PyTorch's Dynamo compiles nothing, so that nothing is there to start from.
NOT_COMPILED = {"2.11": {"int_nothing"}}


def texts():
    for name, (old, new) in CHANGES.items():
        assert MODULE.count(old) == 1, name
        changed = MODULE.replace(old, new)
        if name in OF_FUNCTIONS:
            before, after = OF_FUNCTIONS[name]
            assert changed.count(before) == 1, name
            yield name, changed, changed.replace(before, after)
        else:
            yield name, MODULE, changed


def test_no_premise_that_changes_gives_a_wrong_result(site, tmp_path):
    second = run_rows(site, tmp_path, [*texts(), *unseen.rows(), *identity_programs.rows()])
    warm = {name: row for name, row in second.items() if row["starts"].get("hit")}
    assert warm == {}


def test_usual_programs_start_warm(site, tmp_path):
    rows = [(name, text, text) for name, text, _ in unseen.rows() if name in unseen.WARM_UNCHANGED]
    second = run_rows(site, tmp_path, rows)
    cold = {name: row for name, row in second.items() if set(row["starts"]) != {"hit"} or row["traced"]}
    assert cold == {} and len(rows) == len(unseen.WARM_UNCHANGED)


FILLED_MODULE = '''
import torch

FIRST = ["n%d" % place for place in range(40)]


def filled():
    found = set()
    for name in FIRST:
        found.add(name)
    return found


NAMES = filled()
HELD = [{"names": frozenset(filled())}]


class Palette:
    NAMES = filled()


def in_turn(x, names=frozenset(filled())):
    for name in names:
        x = x * 1.01 + float(name[1:]) / 10
    return x


def in_a_closure():
    names = filled()

    def entry(x):
        return in_turn(x, names)

    return entry


ENTRIES = {
    "global": lambda x: in_turn(x, NAMES),
    "held": lambda x: in_turn(x, HELD[0]["names"]),
    "of_a_class": lambda x: in_turn(x, Palette.NAMES),
    "default": lambda x: in_turn(x),
    "closure": in_a_closure(),
}


def run(compile):
    torch.manual_seed(5)
    x = torch.randn(3, 8)
    compiled = compile(ENTRIES["NAME"])
    with torch.no_grad():
        return compiled(x).detach().clone()
'''
FILLED_OTHERWISE = ("range(40)", "range(39, -1, -1)")


def test_sets_that_were_filled_in_another_order_are_others_under_one_seed(site, tmp_path):
    rows = [
        (f"{name}_{kind}", first, first.replace(*change))
        for name in ("global", "held", "of_a_class", "default", "closure")
        for first in [FILLED_MODULE.replace('"NAME"', f'"{name}"')]
        for kind, change in (("filled", FILLED_OTHERWISE), ("same", ("", "")))]
    second = run_rows(site, tmp_path, rows, seeds=("1", "1"))
    warm = {name for name, row in second.items() if row["starts"].get("hit")}
    assert warm == {name for name in second if name.endswith("_same")}, second


def test_an_operator_that_returns_another_shape_is_noticed_at_the_call(site, tmp_path):
    first = MODULE.replace(SETUP, "    entry = of_an_operator\n")
    second = run_rows(site, tmp_path, [(name, first, first.replace(*change)) for name, change in NOTICED.items()])
    assert all(row["error"] == 0 and row["starts"].get("hit") for row in second.values()), second


def test_what_is_not_read_starts_warm(site, tmp_path):
    rows = []
    for name, (old, new) in INDIFFERENT.items():
        assert MODULE.count(old) == 1, name
        changed = MODULE.replace(old, new)
        rows.append((name, changed if old == SETUP and "entry = " in new else MODULE, changed))
    second = run_rows(site, tmp_path, [*rows, *unseen.usual_rows()])
    cold = {name: row for name, row in second.items() if set(row["starts"]) != {"hit"} or row["traced"]}
    expected = NOT_COMPILED.get(torch.__version__.rpartition(".")[0], set())
    assert set(cold) == {f"row_{name}" for name in expected}, cold
