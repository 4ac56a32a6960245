#include "client/python/guard_program/watch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace stoker::guards {
namespace {

// CPython's PyDictObject: reference count, type, number of items, and then the number of its state.
constexpr std::ptrdiff_t kNumberOffset = 24;
constexpr long kDictionarySize = 48;
constexpr std::size_t kAhead = 24;  // Entries.
constexpr int kLine = 64;           // Bytes of a cache line.
constexpr int kTypeLines = 6;       // Of a class, up to its __mro__.
// Where an object of a class with Py_TPFLAGS_MANAGED_DICT has its dictionary.
constexpr std::ptrdiff_t kManagedSlot = -24;
constexpr unsigned long kManagedDictionary = 1UL << 4;

std::uint64_t NumberOf(PyObject* dictionary) {
  std::uint64_t number = 0;
  std::memcpy(&number, reinterpret_cast<const char*>(dictionary) + kNumberOffset, sizeof number);
  return number;
}

PyObject* InSlot(PyObject* object, std::ptrdiff_t slot) {
  PyObject* found = nullptr;
  std::memcpy(&found, reinterpret_cast<const char*>(object) + slot, sizeof found);
  return found;
}

long LongAttribute(PyObject* object, const char* name) {
  const Reference found = OrThrow(PyObject_GetAttrString(object, name));
  const long number = PyLong_AsLong(found.get());
  if (number == -1 && PyErr_Occurred()) throw PythonError();
  return number;
}

bool NumbersChange() {
  const Reference first = OrThrow(PyDict_New()), second = OrThrow(PyDict_New());
  const Reference key = OrThrow(PyUnicode_FromString("key"));
  std::array<std::uint64_t, 7> numbers{};
  std::size_t seen = 0;
  const auto note = [&] { numbers[seen++] = NumberOf(first.get()); };
  note();
  numbers[seen++] = NumberOf(second.get());
  if (PyDict_SetItem(first.get(), key.get(), Py_None) < 0) throw PythonError();
  note();
  if (PyDict_SetItem(first.get(), key.get(), Py_True) < 0) throw PythonError();
  note();
  if (PyDict_DelItem(first.get(), key.get()) < 0) throw PythonError();
  note();
  if (PyDict_Update(first.get(), second.get()) < 0) throw PythonError();
  if (PyDict_SetItem(first.get(), key.get(), Py_None) < 0) throw PythonError();
  note();
  PyDict_Clear(first.get());
  note();
  for (std::size_t i = 0; i < seen; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (numbers[i] == numbers[j]) return false;
    }
  }
  return true;
}

PyTypeObject* FunctionType() {
  static PyTypeObject* const kFunction = [] {
    const Reference module = OrThrow(PyImport_ImportModule("types"));
    return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(module.get(), "FunctionType"));
  }();
  return kFunction;
}

bool IsPlainKey(PyObject* key) {
  return IsExactly(key, PyUnicode_Type) || IsExactly(key, PyLong_Type);
}

PyObject* FindItem(PyObject* dictionary, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dictionary, key);
  if (found == nullptr && PyErr_Occurred()) throw PythonError();
  return found;
}

}  // namespace

bool Watch::IsSupported() {
  static const bool kIsSupported = [] {
    const unsigned long version = Py_Version >> 16;
    if (version != 0x030B && version != 0x030C) return false;
    if (LongAttribute(reinterpret_cast<PyObject*>(&PyDict_Type), "__basicsize__") !=
        kDictionarySize) {
      return false;
    }
    return NumbersChange();
  }();
  return kIsSupported;
}

Watch::Watch(const std::vector<Node>& nodes, const Checks& checks, Values& values,
             const Roots& roots, const Classes& classes, const std::vector<bool>& checked_elsewhere)
    : nodes_(nodes), classes_(classes), anchored_(nodes.size()) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PyObject* value = values.Get(static_cast<int>(i));
    if (value == nullptr || !Anchor(nodes[i], value, roots)) continue;
    anchored_[i] = value;
    Add(value);
  }
  for (std::size_t i = 0; i < checks.guards().size(); ++i) {
    const Guard& guard = checks.guards()[i];
    const bool elsewhere = checked_elsewhere[static_cast<std::size_t>(guard.place)];
    if (IsProven(guard, elsewhere)) continue;
    live_.push_back(i);
  }
}

bool Watch::Unchanged(const Roots& roots) const {
  // Between two calls the program's own work has taken the caches: what is looked at later is asked
  // for ahead of its turn.
  for (const Lookup& lookup : types_) {
    for (int line = 0; line < kTypeLines; ++line) {
      __builtin_prefetch(reinterpret_cast<const char*>(lookup.container.get()) + line * kLine);
    }
  }
  for (const Names& names : names_) {
    __builtin_prefetch(reinterpret_cast<const char*>(names.dictionary.get()) + kNumberOffset);
  }
  for (const auto& [name, value] : locals_) {
    if (FindItem(roots.local_values, name.get()) != value) return false;
  }
  for (const Names& names : names_) {
    PyObject* dictionary = names.dictionary.get();
    const std::uint64_t number = NumberOf(dictionary);
    if (number == names.number) continue;
    for (const auto& [name, value] : names.found) {
      if (FindItem(dictionary, name.get()) != value.get()) return false;
    }
    names.number = number;
  }
  for (PyObject* module : modules_) {
    if (!IsExactly(module, PyModule_Type)) return false;
  }
  for (const Lookup& lookup : types_) {
    if (OrThrow(PyObject_GetAttr(lookup.container.get(), lookup.key.get())).get() !=
        lookup.value.get()) {
      return false;
    }
  }
  const std::size_t count = entries_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const Entry& ahead = entries_[i + kAhead];
      __builtin_prefetch(reinterpret_cast<const char*>(ahead.dictionary) + kNumberOffset);
      __builtin_prefetch(ahead.object);
      __builtin_prefetch(reinterpret_cast<const char*>(ahead.object) + ahead.slot);
    }
    const Entry& entry = entries_[i];
    if (entry.object != nullptr && (Py_TYPE(entry.object) != entry.type ||
                                    InSlot(entry.object, entry.slot) != entry.dictionary)) {
      return false;
    }
    if (NumberOf(entry.dictionary) != entry.number) return false;
  }
  return true;
}

bool Watch::Anchor(const Node& node, PyObject* value, const Roots& roots) {
  PyObject* key = node.argument.get();
  switch (node.step) {
    case Step::kRoot:
      return true;
    case Step::kLocal:
      // What is made anew for every call is looked at in every call.
      if (!PyDict_CheckExact(roots.local_values)) return false;
      if (value != Py_None && !IsExactly(value, PyBool_Type) &&
          (!IsModule(value) || Add(value) == nullptr)) {
        return false;
      }
      locals_.emplace_back(node.argument, value);
      return true;
    case Step::kModule:
      return AnchorIn(roots.modules, key, value);
    case Step::kGlobal:
      return AnchorIn(roots.global_values, key, value);
    case Step::kAttribute:
    case Step::kGeneric:
    case Step::kItem:
    case Step::kDict:
    case Step::kType:
    case Step::kTypeDictionary:
    case Step::kCall:
      break;
  }
  PyObject* parent = Anchored(node.parent);
  if (node.parent != kNoNode && parent == nullptr) {
    return node.step == Step::kItem && AnchorInClass(node, value);
  }
  if (key == nullptr || node.argument_node != kNoNode) return false;
  const auto known = known_.find(parent);
  const bool is_watched = known != known_.end();
  if (node.step == Step::kType) return is_watched && entries_[known->second].object != nullptr;
  if (node.step == Step::kAttribute && PyType_Check(parent)) {
    return AnchorOfClass(reinterpret_cast<PyTypeObject*>(parent), key, value);
  }
  if (node.step == Step::kAttribute || node.step == Step::kGeneric) {
    if (IsExactly(parent, PyModule_Type)) {
      if (modules_.empty() || modules_.back() != parent) modules_.push_back(parent);
      return AnchorIn(PyModule_GetDict(parent), key, value);
    }
    if (!is_watched || entries_[known->second].object == nullptr) return false;
    const Entry entry = entries_[known->second];
    return FindIn(entry, key, node.step == Step::kGeneric).value == value;
  }
  if (node.step == Step::kItem || node.step == Step::kDict) {
    if (!IsPlainKey(key)) return false;
    if (IsExactly(parent, PyTuple_Type)) return true;
    if (is_watched && entries_[known->second].object == nullptr) {
      return FindItem(parent, key) == value;
    }
    return IsExactly(parent, PyDict_Type) && AnchorIn(parent, key, value);
  }
  return false;
}

// May a watch keep it alive, and is it always itself? Not what holds a program's memory.
bool Watch::IsDefinition(PyObject* value) const {
  return IsExactly(value, PyModule_Type) || IsExactly(value, PyCFunction_Type) ||
         PyType_Check(value) || Py_TYPE(value) == FunctionType() ||
         IsImmutable(value, classes_.constants.get());
}

// A name in the dictionary of a module, which others change at any time: looked up again when they
// did.
bool Watch::AnchorIn(PyObject* container, PyObject* key, PyObject* value) {
  if (!PyDict_CheckExact(container) || !IsExactly(key, PyUnicode_Type) || !IsDefinition(value) ||
      FindItem(container, key) != value) {
    return false;
  }
  auto names = std::ranges::find_if(
      names_, [&](const Names& known) { return known.dictionary.get() == container; });
  if (names == names_.end()) {
    names_.push_back({Reference::Share(container), 0, {}});  // No dictionary has the number 0.
    names = std::prev(names_.end());
  }
  names->found.emplace_back(Reference::Share(key), Reference::Share(value));
  return true;
}

bool Watch::IsDictionary(PyObject* value) const {
  return IsExactly(value, PyDict_Type) ||
         reinterpret_cast<PyObject*>(Py_TYPE(value)) == classes_.ordered_dict.get();
}

// An attribute of a class that one of its own dictionaries holds as it is.
bool Watch::AnchorOfClass(PyTypeObject* cls, PyObject* name, PyObject* value) {
  const ClassFacts& facts = FactsOf(cls);
  const ClassFacts& metaclass = FactsOf(Py_TYPE(reinterpret_cast<PyObject*>(cls)));
  if (!facts.usable || !metaclass.usable || !IsExactly(name, PyUnicode_Type)) return false;
  if (value == facts.order.get()) {
    return PyUnicode_CompareWithASCIIString(name, "__mro__") == 0;
  }
  if (Py_TYPE(value) != FunctionType()) return false;
  for (const Reference& dictionary : metaclass.dictionaries) {
    if (FindItem(dictionary.get(), name) != nullptr) return false;
  }
  for (const Reference& dictionary : facts.dictionaries) {
    if (PyObject* found = FindItem(dictionary.get(), name)) return found == value;
  }
  return false;
}

// vars(cls)[name]: the proxy is made anew each time, what it stands for is watched.
bool Watch::AnchorInClass(const Node& node, PyObject* value) {
  const ClassFacts* facts = ClassBehind(node.parent);
  PyObject* key = node.argument.get();
  return facts != nullptr && key != nullptr && node.argument_node == kNoNode && IsPlainKey(key) &&
         FindItem(facts->dictionaries.front().get(), key) == value;
}

// The class whose vars() the node is; null for other nodes.
const Watch::ClassFacts* Watch::ClassBehind(int place) {
  const Node& node = nodes_[static_cast<std::size_t>(place)];
  if (node.step != Step::kTypeDictionary) return nullptr;
  PyObject* cls = Anchored(node.parent);
  if (cls == nullptr || !PyType_Check(cls)) return nullptr;
  const ClassFacts& facts = FactsOf(reinterpret_cast<PyTypeObject*>(cls));
  return facts.usable ? &facts : nullptr;
}

bool Watch::IsModule(PyObject* value) const {
  return PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(classes_.module.get())) != 0;
}

bool Watch::IsTensor(PyObject* value) const {
  return PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(classes_.tensor.get())) != 0;
}

void Watch::AddDictionary(PyObject* dictionary) {
  if (!known_.emplace(dictionary, entries_.size()).second) return;
  entries_.push_back({nullptr, nullptr, 0, dictionary, NumberOf(dictionary)});
}

// The entry of a value that can be watched, added if need be; null for others. What has no parent
// that is watched (a global dictionary) is not added: see AnchorIn.
const Watch::Entry* Watch::Add(PyObject* value) {
  if (const auto known = known_.find(value); known != known_.end()) {
    return &entries_[known->second];
  }
  if (IsDictionary(value)) {
    AddDictionary(value);
    return &entries_.back();
  }
  PyTypeObject* type = Py_TYPE(value);
  if (IsDefinition(value) || IsTensor(value) ||
      (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) == 0 || !FactsOf(type).usable) {
    return nullptr;
  }
  const bool is_managed = (PyType_GetFlags(type) & kManagedDictionary) != 0;
  const std::ptrdiff_t slot =
      is_managed ? kManagedSlot
                 : LongAttribute(reinterpret_cast<PyObject*>(type), "__dictoffset__");
  if (slot == 0 || (!is_managed && slot < 0)) return nullptr;
  const Reference own = Reference::Steal(PyObject_GenericGetDict(value, nullptr));
  if (!own) {
    SwallowException();
    return nullptr;
  }
  if (!PyDict_CheckExact(own.get()) || InSlot(value, slot) != own.get()) return nullptr;
  known_.emplace(value, entries_.size());
  entries_.push_back({value, type, slot, own.get(), NumberOf(own.get())});
  return &entries_.back();
}

const Watch::ClassFacts& Watch::FactsOf(PyTypeObject* type) {
  const auto [place, is_new] = facts_.try_emplace(type);
  ClassFacts& facts = place->second;
  if (!is_new) return facts;
  PyObject* cls = reinterpret_cast<PyObject*>(type);
  const Reference words =
      OrThrow(PyObject_CallFunctionObjArgs(classes_.describe.get(), cls, nullptr));
  if (words.get() == Py_None) return facts;
  PyObject *dictionaries = nullptr, *mro = nullptr;
  int overrides = 0, fallback = 0;
  if (!PyArg_ParseTuple(words.get(), "O!O!ii", &PyTuple_Type, &dictionaries, &PyTuple_Type, &mro,
                        &overrides, &fallback)) {
    throw PythonError();
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(dictionaries); ++i) {
    PyObject* dictionary = PyTuple_GetItem(dictionaries, i);
    if (!PyDict_CheckExact(dictionary)) return facts;
    facts.dictionaries.push_back(Reference::Share(dictionary));
  }
  for (const Reference& dictionary : facts.dictionaries) AddDictionary(dictionary.get());
  types_.push_back({Reference::Share(cls), OrThrow(PyUnicode_InternFromString("__mro__")),
                    Reference::Share(mro)});
  facts.order = Reference::Share(mro);
  facts.usable = !facts.dictionaries.empty();
  facts.plain = overrides == 0;
  facts.fallback = fallback;
  return facts;
}

// What reading an attribute gives, if the dictionaries that are watched decide about it.
Watch::Found Watch::FindIn(const Entry& entry, PyObject* name, bool generic) {
  const ClassFacts& facts = FactsOf(entry.type);
  if (!facts.plain && !generic) return {};
  for (const Reference& dictionary : facts.dictionaries) {
    if (PyObject* found = FindItem(dictionary.get(), name)) {
      // A method is there for every instance; other descriptors may raise.
      return IsDefinition(found) ? Found{Presence::kPresent} : Found{};
    }
  }
  if (PyObject* found = FindItem(entry.dictionary, name)) return {Presence::kPresent, found};
  if (generic || facts.fallback == 0) return {Presence::kAbsent};
  if (facts.fallback != 1) return {};
  for (const char* part : {"_parameters", "_buffers", "_modules"}) {
    const Reference key = OrThrow(PyUnicode_InternFromString(part));
    PyObject* dictionary = FindItem(entry.dictionary, key.get());
    if (dictionary == nullptr || !IsDictionary(dictionary)) return {};
    AddDictionary(dictionary);
    if (PyObject* found = FindItem(dictionary, name)) return {Presence::kPresent, found};
  }
  return {Presence::kAbsent};
}

bool Watch::IsProven(const Guard& guard, bool checked_elsewhere) {
  PyObject* value = Anchored(guard.place);
  if (guard.kind == Kind::kTensor) return checked_elsewhere;
  if (guard.kind == Kind::kType && checked_elsewhere) return true;
  if (guard.kind == Kind::kLacks && value == nullptr && ClassBehind(guard.place) != nullptr) {
    return IsPlainKey(guard.expected.get());
  }
  if (value == nullptr) return false;
  const auto known = known_.find(value);
  const bool is_watched = known != known_.end();
  const Entry* object =
      is_watched && entries_[known->second].object != nullptr ? &entries_[known->second] : nullptr;
  const bool is_dictionary = is_watched && object == nullptr && IsDictionary(value);
  switch (guard.kind) {
    case Kind::kAsk:
    case Kind::kTensor:
      return false;
    case Kind::kSame:
      return Anchored(guard.other) != nullptr;
    case Kind::kIs:
      return true;
    case Kind::kType:
      // Only the class of an instance of a class written in Python, and of a module, can be set.
      return object != nullptr || (!IsExactly(value, PyModule_Type) &&
                                   (PyType_GetFlags(Py_TYPE(value)) & Py_TPFLAGS_HEAPTYPE) == 0);
    case Kind::kEquals:
      return IsImmutable(value, classes_.constants.get());
    case Kind::kLength:
      return is_dictionary || IsImmutable(value, classes_.constants.get());
    case Kind::kKeys:
      return is_dictionary;
    case Kind::kContains:
    case Kind::kLacks:
      return is_dictionary && IsPlainKey(guard.expected.get());
    case Kind::kOwnLacks: {
      if (object == nullptr) return false;
      const Reference own = Reference::Steal(
          PyObject_GenericGetAttr(value, OrThrow(PyUnicode_InternFromString("__dict__")).get()));
      if (!own) SwallowException();
      return own.get() == object->dictionary;
    }
    case Kind::kHasAttribute:
    case Kind::kHasNoAttribute: {
      if (object == nullptr) return false;
      const Entry entry = *object;
      const Presence wanted =
          guard.kind == Kind::kHasAttribute ? Presence::kPresent : Presence::kAbsent;
      return FindIn(entry, guard.expected.get(), false).presence == wanted;
    }
    case Kind::kDynamic:
      // Dims of a parameter are never marked.
      return reinterpret_cast<PyObject*>(Py_TYPE(value)) == classes_.parameter.get();
  }
  return false;
}

}  // namespace stoker::guards
