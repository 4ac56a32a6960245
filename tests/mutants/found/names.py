"""Names that are asked for: attributes, modules, what is absent and then there. Name: (program, old text, new text)."""

FOUND = {
    "format_attr": ('''
class Config:
    rate = 1.5


def entry(x):
    return x * float("{0.rate}".format(Config))
''', "rate = 1.5", "rate = 2.5"),
    "hasattr_made": ('''
EXTRA = "ex"
# MORE


def entry(x):
    return x * 2 if hasattr(THIS, f"{EXTRA}tra") else x * 3
''', "# MORE", "extra = 1"),
    "getattr_made": ('''
EXTRA = "ex"
# MORE


def entry(x):
    return x * getattr(THIS, f"{EXTRA}tra", 2.0)
''', "# MORE", "extra = 1.5"),
    "module_dir": ('''
value_1 = 1
# MORE


def entry(x):
    return x * len([name for name in dir(THIS) if name.startswith("value_")])
''', "# MORE", "value_2 = 1"),
    "lazy_getattr": ('''
def __getattr__(name):
    if name == "hidden":
        return 2.5
    raise AttributeError(name)


# MORE


def entry(x):
    return x * getattr(THIS, "hidden", 1.0)
''', "# MORE", "getattr = lambda *names: 4.0"),
    "own_dictionary": ('''
class Holder:
    pass


HOLDER = Holder()
# MORE


def entry(x):
    return x * HOLDER.__dict__.get("rate", 7)
''', "# MORE", "HOLDER.rate = 5"),
    "own_dictionary_made": ('''
class Holder:
    kind = "slow"


HOLDER = Holder()
# MORE


def entry(x):
    return x * 2 if "rate_" + HOLDER.kind in vars(HOLDER) else x * 3
''', "# MORE", "HOLDER.rate_slow = 5"),
    "name_made_elsewhere": ('''
class Holder:
    kind = "slow"


HOLDER = Holder()
# MORE


def name_of(holder):
    return "_".join(("rate", holder.kind))


def entry(x):
    return x * getattr(HOLDER, name_of(HOLDER), 7)
''', "# MORE", "HOLDER.rate_slow = 5"),
    "name_made_for_own_dictionary": ('''
class Holder:
    kind = "slow"

    def __getattr__(self, name):
        key = "rate_" + name
        return self.__dict__[key] if key in self.__dict__ else 7


HOLDER = Holder()
# MORE


def entry(x):
    return x * HOLDER.slow
''', "# MORE", "HOLDER.rate_slow = 5"),
    "absent_in_lazy_module": ('''
# MORE


def entry(x):
    return x * getattr(torch, "plugin_rate", 7)
''', "# MORE", "torch.plugin_rate = 5"),
    "absent_chain_in_lazy_module": ('''
# MORE


def entry(x):
    try:
        return x * torch.plugin_rate
    except AttributeError:
        return x * 7
''', "# MORE", "torch.plugin_rate = 5"),
    "alias_in_lazy_module": ('''
# MORE


def entry(x):
    return x * 2 if hasattr(torch, "plugin_sine") else x * 3
''', "# MORE", "torch.plugin_sine = torch.sin"),
    "absent_in_imported_module": ('''
# MORE


def entry(x):
    import math as numbers

    return x * getattr(numbers, "plugin_rate", 7)
''', "# MORE", "__import__('math').plugin_rate = 5"),
    "absent_in_imported_package": ('''
# MORE


def entry(x):
    import torch.nn.functional as functional

    return x * (functional.plugin_rate if hasattr(functional, "plugin_rate") else 7)
''', "# MORE", "torch.nn.functional.plugin_rate = 5"),
    "absent_operator": ('''
# MORE


def entry(x):
    return x * 2 if hasattr(torch.ops.found, "plugin") else x * 3
''', "# MORE", "torch.library.define('found::plugin', '(Tensor x) -> Tensor')"),
    "module_found": ('''
import importlib.util
import tempfile

FOLDER = tempfile.mkdtemp()
# MORE
sys.path.insert(0, FOLDER)


def entry(x):
    return x * 2 if importlib.util.find_spec("plugin_of_nobody") else x * 3
''', "# MORE", 'open(os.path.join(FOLDER, "plugin_of_nobody.py"), "w").close()'),
    "version_found": ('''
import importlib.metadata
import tempfile

FOLDER = tempfile.mkdtemp()
VERSION = "1.0"
METADATA = os.path.join(FOLDER, f"plugin_of_nobody-{VERSION}.dist-info")
os.mkdir(METADATA)
with open(os.path.join(METADATA, "METADATA"), "w") as file:
    file.write(f"Metadata-Version: 2.1\\nName: plugin-of-nobody\\nVersion: {VERSION}\\n")
sys.path.insert(0, FOLDER)


def entry(x):
    return x * 2 if importlib.metadata.version("plugin-of-nobody") == "1.0" else x * 3
''', 'VERSION = "1.0"', 'VERSION = "2.0"'),
}
