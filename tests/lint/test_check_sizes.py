"""check_sizes.py on small made-up repositories: what is within the limits passes, what is beyond them is named."""

import pytest

from check_sizes import complaints


def function(lines, head="void F() {"):
    """One of so many lines, its head's among them."""
    return head + "\n" + "  G();\n" * (lines - head.count("\n") - 2) + "}\n"


# `{}` stands for a function of so many lines.
LONG = [
    ("a free function", "namespace stoker {{\nnamespace {{\n\n{}\n}}  // namespace\n}}  // namespace stoker\n",
     "Status RunApp(const Config& config) {", 4, "RunApp"),
    ("a member", "{}", "Result<std::vector<int>> Store::Get(const Key& key,\n    int count) const {", 1, "Store::Get"),
    ("a constructor", "{}", "Store::Store(int size)\n    : size_(size), names_{1, 2}, lock_(&size_) {", 1,
     "Store::Store"),
    ("a template", "{}", "template <typename T, typename = std::enable_if_t<kIs<T>>>\nT Least(T a) {", 1, "Least"),
    ("an operator", "{}", "bool Key::operator==(const Key& other) const {", 1, "Key::operator=="),
    ("inside a class", "class A : public B {{\n public:\n  int x_{{1}};\n\n{}}};\n", "  int Get() override {", 5, "Get"),
    ("of the C interface", 'extern "C" {{\n{}}}\n', "int stoker_get(void) {", 2, "stoker_get"),
    ("behind braces that are text", 'const char* kText = "{{{{";  // {{\n#define X {{ \\\n  {{\n{}',
     "void Write() {", 4, "Write"),
    ("behind a table", "const std::map<int, int> kTable = {{\n    {{1, F(2)}},\n}};\n{}", "void Read() {", 4, "Read"),
]


@pytest.mark.parametrize("text, head, line, name", [row[1:] for row in LONG], ids=[row[0] for row in LONG])
def test_Complaints_LongFunction_NamedWithLinesAndLimit(text, head, line, name):
    assert complaints({"daemon/a.cc": text.format(function(60, head))}) == []
    assert complaints({"daemon/a.cc": text.format(function(61, head))}) == [
        f"daemon/a.cc:{line}: function {name} has 61 lines; the limit is 60."]


def test_Complaints_LongTable_None():
    table = "const std::vector<Row> kRows = {\n" + "    {1, F(2)},\n" * 100 + "};\n"
    assert complaints({"daemon/a.cc": table + "enum class E {\n" + "  kA,\n" * 100 + "};\n"}) == []


def test_Complaints_LongPythonFunction_Named():
    def text(lines):
        return "class A:\n    async def run(self):\n" + "        pass\n" * (lines - 1)
    assert complaints({"client/python/stoker/a.py": text(60)}) == []
    assert complaints({"client/python/stoker/a.py": text(61)}) == [
        "client/python/stoker/a.py:2: function run has 61 lines; the limit is 60."]


def test_Complaints_FullFolder_NamedWithCountAndLimit():
    files = {f"cache/a{i}.h": "" for i in range(24)} | {"cache/README.md": "", "cache/rocks/b.h": ""}
    assert complaints(files) == []
    assert complaints(files | {"cache/CMakeLists.txt": ""}) == [
        "cache:1: the folder holds 26 files; the limit is 25."]


def spread(count):
    """Class stoker::A in its header and `count` files more, each of which has another class of its own, too."""
    files = {f"compiler/a{i}.cc": "namespace stoker {\nnamespace {\nclass Local {};\n}  // namespace\n"
             f"void A::F{i}() {{ G(); }}\n" "}  // namespace stoker\n" for i in range(count)}
    return files | {"compiler/a.h": "namespace stoker {\n\nclass A {\n  void F0();\n};\n\n}  // namespace stoker\n"}


def test_Complaints_SpreadClass_NamedWithFilesAndLimit():
    assert complaints(spread(6)) == []
    assert complaints(spread(7)) == [
        "compiler/a.h:3: class stoker::A is spread over 8 files; the limit is 7."]


def test_Complaints_ClassesOfOneName_CountedApart():
    other = {path.replace("compiler/", "runtime/"): text.replace("stoker {", "stoker::cpu {")
             for path, text in spread(6).items()}
    assert complaints(spread(6) | other) == []


def test_Complaints_MembersOfAMember_CountedForTheClassAround():
    parts = {f"cache/p{i}.cc": f"int stoker::A::Part::F{i}() {{ return 1; }}\n" for i in range(2)}
    assert complaints(spread(5) | parts) == [
        "compiler/a.h:3: class stoker::A is spread over 8 files; the limit is 7."]


def test_Complaints_Tests_NotAsked():
    assert complaints({f"tests/a{i}.cc": function(100) for i in range(30)}) == []
