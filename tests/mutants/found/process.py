"""The process: its environment, its limits, its hashes, settings of PyTorch. Name: (program, old text, new text)."""

from mutants.found.change import ANOTHER_SEED

FOUND = {
    "hash_str": ('''
NAME = "abc"


def entry(x):
    return x * (hash(NAME) % 97)
''', ANOTHER_SEED),
    "hash_obj": ('''
class Named:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)


NAMED = Named("abc")


def entry(x):
    return x * (hash(NAMED) % 97)
''', ANOTHER_SEED),
    "hash_tuple": ('''
def entry(x):
    return x * (hash(("a", "b")) % 97)
''', ANOTHER_SEED),
    "env_alias": ('''
ENV = os.environ


def entry(x):
    return x * 2 if ENV.get("MUTX") == "1" else x * 3
''', "ENV = ", "os.environ['MUTX'] = '1'\nENV = "),
    "env_from": ('''
from os import environ as VARIABLES


def entry(x):
    return x * 2 if VARIABLES.get("MUTX") == "1" else x * 3
''', "from os", "os.environ['MUTX'] = '1'\nfrom os"),
    "env_helper": ('''
def ask(env, name):
    return env.get("MUT" + name) == "1"


def entry(x):
    return x * 2 if ask(os.environ, "X") else x * 3
''', "def ask", "os.environ['MUTX'] = '1'\ndef ask"),
    "env_default": ('''
def ask(name, env=os.environ):
    return env.get(name) == "1"


def entry(x):
    return x * 2 if ask("MUTX") else x * 3
''', "def ask", "os.environ['MUTX'] = '1'\ndef ask"),
    "env_dash": ('''
KEY = "MUTANT-other"


def entry(x):
    x = x * 2 if os.environ.get(KEY) else x * 3
    return x + 1 if "MUTANT key" in os.environ else x
''', "KEY = ", "os.environ['MUTANT key'] = '1'\nKEY = "),
    "env_dash_global": ('''
KEY = "MUTANT-other"


def entry(x):
    return x * 2 if os.environ.get(KEY) else x * 3
''', "KEY = ", "os.environ['MUTANT-other'] = '1'\nKEY = "),
    "precision": ('''
def entry(x):
    return x * 2 if torch._C._get_cublas_allow_tf32() else x * 3
''', "def entry", "torch.backends.cuda.matmul.allow_tf32 = True\n\n\ndef entry"),
    "recursion_limit": ('''
# MORE


def entry(x):
    return x * sys.getrecursionlimit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "sorted_by_key": ('''
def entry(x):
    for place, name in enumerate(sorted({"bb", "aa", "cc", "dd", "ee", "ff", "gg"}, key=len)):
        x = x * 2 if name in ("aa", "dd") else x + place
    return x
''', ANOTHER_SEED),
    "limit_of_imported_module": ('''
# MORE


def entry(x):
    import sys

    return x * sys.getrecursionlimit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "limit_by_default": ('''
# MORE


def entry(x, limit=sys.getrecursionlimit):
    return x * limit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "limit_of_class": ('''
class Limits:
    limit = sys.getrecursionlimit


# MORE


def entry(x):
    return x * Limits.limit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
}
