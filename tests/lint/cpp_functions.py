"""Finds the functions and classes of a C++ file that clang-format has laid out.

No compiler is asked: braces are followed, and what stands before one tells what it opens. A body's brace has a blank
before it there and an initializer's has none, and neither does it stand behind a "=", a "(" or a ",".
"""

import dataclasses
import re

_SKIPPED = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/                       # Comments.
    |(?:u8|[uUL])?R"([^\s()\\]*)\(.*?\)\1"                 # Raw strings.
    |"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'   # Strings; not the ' within a number.
    |^[ \t]*\#(?:\\\n|[^\n])*                              # Directives, macros with all their lines.
    """, re.VERBOSE | re.DOTALL | re.MULTILINE)
_CLASS = re.compile(r"\b(?:class|struct|union)\s+(?:\w+\s*\([^()]*\)\s*)?(?:alignas\([^()]*\)\s*)?([\w:]+)")
_NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b\s*([\w:]*)")
_CALLED = re.compile(r"((?:\w+(?:<[^<>()]*>)?::)*(?:~?\w+|operator\s*(?:\(\)|[^\s\w(]+|[\w:&* ]+?)))\s*\(")


@dataclasses.dataclass(frozen=True)
class Function:
    name: str  # As it is written, "Graph::Build".
    line: int
    lines: int
    owners: tuple  # The qualified names that its class may have, should there be one.


@dataclasses.dataclass
class Scan:
    functions: list
    classes: list  # (qualified name, line)


def scan(path, text):
    """What a file defines. An unnamed namespace is its file's own: `path` stands for its name."""
    code = _SKIPPED.sub(_blank, text)
    found = Scan([], [])
    scopes = []  # (kind, name, head's offset)
    head = 0  # Where what stands before the next brace begins.
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        inside = scopes[-1][0] if scopes else "namespace"
        if match.group() == "{":
            kind, name = _opened(code, head, at, inside)
            scopes.append((kind, path if kind == "namespace" and name == "" else name, head))
            if kind == "class":
                found.classes.append((_qualified(scopes), _line(code, _begin(code, head))))
        elif match.group() == "}" and scopes:
            kind, name, begin = scopes.pop()
            if kind == "function":
                begin = _line(code, _begin(code, begin))
                found.functions.append(
                    Function(name, begin, _line(code, at) - begin + 1, _owners(scopes, name)))
            if kind in ("initializer", "block"):
                continue  # The statement around it goes on.
        elif inside in ("function", "block", "initializer"):
            continue
        if not scopes or scopes[-1][0] in ("namespace", "class"):
            head = at + 1
    return found


def _opened(code, head, at, inside):
    """(kind, name) of what the brace at `at` opens."""
    text = code[head:at]
    if inside not in ("namespace", "class"):
        return "block", ""
    before = text.rstrip()
    namespace = _NAMESPACE.match(text.strip())
    if namespace:
        return "namespace", namespace.group(1)
    if re.fullmatch(r'\s*extern\s*""\s*', text):
        return "namespace", None
    if re.search(r"\benum\b[^()]*$", text):
        return "block", ""
    named = re.search(r"(?:^|[>\s])" + _CLASS.pattern + r"[^()]*$", _without_templates(text))
    if named and not re.search(r"[=(]\s*$", before):
        return "class", named.group(1)
    called = _CALLED.search(_without_templates(text))
    is_initializer = before == text or before.endswith(("=", "(", ",", "return"))
    if called and not is_initializer:
        return "function", called.group(1)
    return "initializer", ""


def _without_templates(text):
    return re.sub(r"^\s*template\s*<(?:[^<>]|<[^<>]*>)*>", lambda match: " " * len(match.group()), text)


def _qualified(scopes):
    return "::".join(name for kind, name, _ in scopes if kind in ("namespace", "class") and name)


def _owners(scopes, name):
    """Of each class that a member of this name, defined here, may belong to: its own, and those around it."""
    around = [scope for scope in scopes if scope[0] in ("namespace", "class")]
    parts = re.sub(r"<[^<>]*>", "", name).split("::")[:-1]
    first = next((i for i, scope in enumerate(around) if scope[0] == "class"), len(around))
    whole = [scope[1] for scope in around if scope[1]] + parts
    namespaces = len([scope for scope in around[:first] if scope[1]])
    return tuple("::".join(whole[:end]) for end in range(namespaces + 1, len(whole) + 1))


def _begin(code, head):
    """Where the words of a head begin: labels such as `public:` belong to what stands before."""
    label = re.compile(r"\s*(?:public|private|protected)\s*:")
    while match := label.match(code, head):
        head = match.end()
    return head + len(code[head:]) - len(code[head:].lstrip())


def _line(code, offset):
    return code.count("\n", 0, offset) + 1


def _blank(match):
    """As many lines, and nothing on them but quotes for a string."""
    text = match.group()
    if text.startswith(("/", "#")) or text.lstrip().startswith("#"):
        return re.sub(r"[^\n]", " ", text)
    return '""' + "\n" * text.count("\n")
