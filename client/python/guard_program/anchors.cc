#include "client/python/guard_program/anchors.h"

#include <algorithm>
#include <utility>

#include "client/python/guard_program/python/types.h"

namespace stoker::guards {
namespace {

long LongAttribute(PyObject* object, const char* name) {
  const Reference found = OrThrow(PyObject_GetAttrString(object, name));
  const long number = PyLong_AsLong(found.get());
  if (number == -1 && PyErr_Occurred()) throw PythonError();
  return number;
}

bool IsPlainKey(PyObject* key) {
  return IsExactly(key, PyUnicode_Type) || IsExactly(key, PyLong_Type);
}

bool Is(PyObject* text, const char* name) {
  return IsExactly(text, PyUnicode_Type) && PyUnicode_CompareWithASCIIString(text, name) == 0;
}

// The key at a place in a dictionary's order.
PyObject* KeyAt(PyObject* dictionary, PyObject* place) {
  Py_ssize_t left = PyLong_AsSsize_t(place), position = 0;
  if (left == -1 && PyErr_Occurred()) throw PythonError();
  PyObject* key = nullptr;
  while (PyDict_Next(dictionary, &position, &key, nullptr)) {
    if (left-- == 0) return key;
  }
  return nullptr;
}

}  // namespace

Anchors::Anchors(const std::vector<Node>& nodes, const Checks& checks, Values& values,
                 const Roots& roots, const Classes& classes, const PythonLayout& layout,
                 Watch& watch)
    : nodes_(nodes),
      classes_(classes),
      layout_(layout),
      watch_(watch),
      dynamic_(OrThrow(PyUnicode_InternFromString(kDynamicIndices))),
      anchored_(nodes.size()) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PyObject* value = values.Get(static_cast<int>(i));
    if (value == nullptr || !Anchor(nodes[i], value, roots)) continue;
    anchored_[i] = value;
    if (IsEmptyHooks(nodes[i], value)) {
      if (hooks_.insert(value).second) watch_.AddHooks(value);
    } else if (!IsOf(value, classes_.tensor)) {
      Add(value);
    }
  }
  watch_.SetRegistrations(classes.hook_registrations.get());
  for (const Guard& guard : checks.guards()) {  // They see to the types of tensors too.
    PyObject* value = Find(guard.place);
    if (guard.kind == Kind::kTensor && value != nullptr) AddTensor(value, *guard.tensor);
  }
  for (std::size_t i = 0; i < checks.guards().size(); ++i) {
    const Guard& guard = checks.guards()[i];
    if (!IsProven(guard)) live_.push_back({i, BareClass(guard, values.Get(guard.place))});
  }
}

bool Anchors::Anchor(const Node& node, PyObject* value, const Roots& roots) {
  if (node.parent == kNoNode) return AnchorRoot(node, value, roots);
  PyObject* parent = Find(node.parent);
  if (parent == nullptr) return node.step == Step::kItem && AnchorInClass(node, value);
  if (node.step == Step::kType) return OwnerOf(parent) != nullptr;
  PyObject* key = node.argument_node == kNoNode ? node.argument.get() : Find(node.argument_node);
  if (key == nullptr) return false;
  if (node.step == Step::kAttribute || node.step == Step::kGeneric) {
    return AnchorAttribute(node, parent, key, value);
  }
  return AnchorItem(node, parent, key, value);
}

bool Anchors::AnchorRoot(const Node& node, PyObject* value, const Roots& roots) {
  PyObject* name = node.argument.get();
  if (node.step == Step::kModule) return AnchorName(roots.modules, name, value);
  if (node.step == Step::kGlobal) return AnchorName(roots.global_values, name, value);
  if (node.step != Step::kLocal) return true;
  // What is made anew for every call is looked at in every call.
  if (!PyDict_CheckExact(roots.local_values)) return false;
  if (value != Py_None && !IsExactly(value, PyBool_Type) &&
      (!IsOf(value, classes_.module) || AddOwner(value) == nullptr)) {
    return false;
  }
  watch_.AddLocal(name, value);
  return true;
}

bool Anchors::AnchorAttribute(const Node& node, PyObject* parent, PyObject* name, PyObject* value) {
  const bool generic = node.step == Step::kGeneric;
  if (IsExactly(parent, PyModule_Type)) {
    // Its class can be set.
    AddType(parent);
    return AnchorName(PyModule_GetDict(parent), name, value);
  }
  if (!generic && PyType_Check(parent)) {
    return AnchorOfClass(reinterpret_cast<PyTypeObject*>(parent), name, value);
  }
  if (!generic && IsFunction(parent)) return AnchorOfFunction(parent, name, value);
  if (IsCell(parent)) {
    return Is(name, "cell_contents") && AnchorKept(parent, layout_.cell_contents, value);
  }
  const Owner* owner = OwnerOf(parent);
  return owner != nullptr && FindIn(parent, *owner, name, generic).value == value;
}

bool Anchors::AnchorItem(const Node& node, PyObject* parent, PyObject* key, PyObject* value) {
  if (node.step == Step::kDefault) {
    if (!IsFunction(parent)) return false;
    PyObject* defaults = ObjectAt(parent, layout_.function_defaults);
    return defaults != nullptr && AnchorKept(parent, layout_.function_defaults, defaults);
  }
  if (!IsPlainKey(key)) return false;
  if (node.step == Step::kKey) return contents_.contains(parent) && KeyAt(parent, key) == value;
  if (node.step != Step::kItem && node.step != Step::kDict) return false;
  if (IsExactly(parent, PyTuple_Type)) return true;
  if (contents_.contains(parent)) {
    return (node.step == Step::kDict || IsContent(parent, "__getitem__")) &&
           FindItem(parent, key) == value;
  }
  return IsExactly(parent, PyDict_Type) && AnchorName(parent, key, value);
}

// A name in the dictionary of a module.
bool Anchors::AnchorName(PyObject* container, PyObject* key, PyObject* value) {
  if (!PyDict_CheckExact(container) || !IsExactly(key, PyUnicode_Type) ||
      FindItem(container, key) != value) {
    return false;
  }
  // Another object in the same place has another dictionary.
  if (IsDefinition(value)) {
    watch_.Keep(value);
  } else if (!Add(value)) {
    return false;
  }
  watch_.AddName(container, key, value);
  return true;
}

// An attribute of a class that one of its own dictionaries holds as it is.
bool Anchors::AnchorOfClass(PyTypeObject* cls, PyObject* name, PyObject* value) {
  const ClassFacts& facts = FactsOf(cls);
  const ClassFacts& metaclass = FactsOf(Py_TYPE(reinterpret_cast<PyObject*>(cls)));
  if (!facts.usable || !metaclass.usable || !IsExactly(name, PyUnicode_Type)) return false;
  if (value == facts.order.get()) return Is(name, "__mro__");
  if (!IsFunction(value)) return false;
  for (const Reference& dictionary : metaclass.dictionaries) {
    PyObject* found = FindItem(dictionary.get(), name);
    if (found != nullptr && !IsMethod(found)) return false;
  }
  for (const Reference& dictionary : facts.dictionaries) {
    if (PyObject* found = FindItem(dictionary.get(), name)) return found == value;
  }
  return false;
}

// vars(cls)[name]: the proxy is made anew each time, what it stands for is watched.
bool Anchors::AnchorInClass(const Node& node, PyObject* value) {
  const ClassFacts* facts = ClassBehind(node.parent);
  PyObject* key = node.argument.get();
  return facts != nullptr && key != nullptr && node.argument_node == kNoNode && IsPlainKey(key) &&
         FindItem(facts->dictionaries.front().get(), key) == value;
}

bool Anchors::AnchorOfFunction(PyObject* function, PyObject* name, PyObject* value) {
  if (Is(name, "__closure__")) return true;  // It cannot be set.
  return Is(name, "__code__") && AnchorKept(function, layout_.function_code, value);
}

// What an anchored object points to, and may point to another of. The watch keeps it: an address is
// not used again.
bool Anchors::AnchorKept(PyObject* owner, std::ptrdiff_t offset, PyObject* value) {
  if (ObjectAt(owner, offset) != value || !(IsDefinition(value) || IsCode(value))) return false;
  watch_.Keep(value);
  watch_.AddWord(owner, offset);
  return true;
}

const Anchors::ClassFacts& Anchors::FactsOf(PyTypeObject* type) {
  const auto [place, is_new] = facts_.try_emplace(type);
  ClassFacts& facts = place->second;
  if (!is_new) return facts;
  PyObject* cls = reinterpret_cast<PyObject*>(type);
  const Reference words =
      OrThrow(PyObject_CallFunctionObjArgs(classes_.describe.get(), cls, nullptr));
  if (words.get() == Py_None) return facts;
  PyObject *dictionaries = nullptr, *order = nullptr;
  int overrides = 0, fallback = 0;
  if (!PyArg_ParseTuple(words.get(), "O!O!ii", &PyTuple_Type, &dictionaries, &PyTuple_Type, &order,
                        &overrides, &fallback)) {
    throw PythonError();
  }
  if (ObjectAt(type, layout_.class_order) != order) return facts;
  for (Py_ssize_t i = 0; i < PyTuple_Size(dictionaries); ++i) {
    PyObject* dictionary = PyTuple_GetItem(dictionaries, i);
    if (!PyDict_CheckExact(dictionary)) return facts;
    facts.dictionaries.push_back(Reference::Share(dictionary));
  }
  for (PyObject* kept : {cls, order, dictionaries}) watch_.Keep(kept);
  for (const Reference& dictionary : facts.dictionaries) AddContent(dictionary.get());
  watch_.AddWord(type, layout_.class_order);
  facts.order = Reference::Share(order);
  facts.usable = !facts.dictionaries.empty();
  facts.plain = overrides == 0;
  facts.fallback = fallback;
  return facts;
}

// The class whose vars() the node is; null for other nodes.
const Anchors::ClassFacts* Anchors::ClassBehind(int place) {
  if (place == kNoNode) return nullptr;
  const Node& node = nodes_[static_cast<std::size_t>(place)];
  if (node.step != Step::kTypeDictionary) return nullptr;
  PyObject* cls = Find(node.parent);
  if (cls == nullptr || !PyType_Check(cls)) return nullptr;
  const ClassFacts& facts = FactsOf(reinterpret_cast<PyTypeObject*>(cls));
  return facts.usable ? &facts : nullptr;
}

// Watches an object's own attributes, and its items if it is a dictionary. False if it has neither.
bool Anchors::Add(PyObject* value) {
  const bool has_attributes = AddOwner(value) != nullptr;
  if (IsDictionary(value) || (has_attributes && PyDict_Check(value))) {
    AddContent(value);
    return true;
  }
  return has_attributes;
}

void Anchors::AddContent(PyObject* dictionary) {
  if (!contents_.insert(dictionary).second) return;
  watch_.AddContent(dictionary);
}

const Anchors::Owner* Anchors::OwnerOf(PyObject* value) const {
  const auto known = owners_.find(value);
  return known == owners_.end() ? nullptr : &known->second;
}

// Null for what has no dictionary of its own that can be watched.
const Anchors::Owner* Anchors::AddOwner(PyObject* value) {
  if (const Owner* known = OwnerOf(value)) return known;
  PyTypeObject* type = Py_TYPE(value);
  if (IsDefinition(value) || (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) == 0 ||
      !FactsOf(type).usable) {
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
  if (!PyDict_CheckExact(own.get()) || ObjectAt(value, slot) != own.get()) return nullptr;
  watch_.AddWord(value, slot);
  AddType(value);
  AddContent(own.get());
  return &owners_.emplace(value, Owner{type, own.get()}).first->second;
}

void Anchors::AddType(PyObject* value) {
  if (tensors_.contains(value) || !typed_.insert(value).second) return;
  watch_.Keep(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  watch_.AddWord(value, kTypeOffset);
}

void Anchors::AddTensor(PyObject* tensor, const TensorFacts& facts) {
  const TensorLayout* layout = TensorLayout::Get();
  if (layout == nullptr || !facts.seen || !facts.seen->Equals(tensor, *layout) ||
      !tensors_.insert(tensor).second) {
    return;
  }
  watch_.Keep(reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  watch_.AddTensor(tensor, *facts.seen, *layout);
}

// May a watch keep it alive, and is it always itself? Not what holds a program's memory.
bool Anchors::IsDefinition(PyObject* value) const {
  return IsExactly(value, PyModule_Type) || IsExactly(value, PyCFunction_Type) ||
         PyType_Check(value) || IsFunction(value) || IsImmutable(value, classes_.constants.get());
}

bool Anchors::IsDictionary(PyObject* value) const {
  return IsExactly(value, PyDict_Type) ||
         reinterpret_cast<PyObject*>(Py_TYPE(value)) == classes_.ordered_dict.get();
}

bool Anchors::IsOf(PyObject* value, const Reference& type) const {
  return PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(type.get())) != 0;
}

// Do the items of a watched dictionary decide about this method of it?
bool Anchors::IsContent(PyObject* value, const char* method) {
  if (!contents_.contains(value)) return false;
  if (IsDictionary(value)) return true;
  const Reference name = OrThrow(PyUnicode_InternFromString(method));
  for (const Reference& dictionary : FactsOf(Py_TYPE(value)).dictionaries) {
    if (PyObject* found = FindItem(dictionary.get(), name.get())) {
      const Reference own =
          OrThrow(PyObject_GetAttr(reinterpret_cast<PyObject*>(&PyDict_Type), name.get()));
      return found == own.get();
    }
  }
  return false;
}

// What reading an attribute gives, if the dictionaries that are watched decide about it.
Anchors::Found Anchors::FindIn(PyObject* value, const Owner& owner, PyObject* name, bool generic) {
  const ClassFacts& facts = FactsOf(owner.type);
  if (!facts.plain && !generic) return FindComputed(value, name, generic);
  for (const Reference& dictionary : facts.dictionaries) {
    PyObject* found = FindItem(dictionary.get(), name);
    if (found == nullptr) continue;
    if (IsDictionary(found) || IsImmutable(found, classes_.constants.get())) {
      PyObject* own = FindItem(owner.dictionary, name);
      return {Presence::kPresent, own == nullptr ? found : own};
    }
    // A method is there for every instance; other descriptors may raise.
    return IsDefinition(found) ? Found{Presence::kPresent} : FindComputed(value, name, generic);
  }
  if (PyObject* found = FindItem(owner.dictionary, name)) return {Presence::kPresent, found};
  if (generic || facts.fallback == 0) return {Presence::kAbsent};
  if (facts.fallback != 1) return {};
  for (const char* part : {"_parameters", "_buffers", "_modules"}) {
    const Reference key = OrThrow(PyUnicode_InternFromString(part));
    PyObject* dictionary = FindItem(owner.dictionary, key.get());
    if (dictionary == nullptr || !IsDictionary(dictionary)) return {};
    AddContent(dictionary);
    if (PyObject* found = FindItem(dictionary, name)) return {Presence::kPresent, found};
  }
  return {Presence::kAbsent};
}

// The same of an attribute that Python code of the class computes.
Anchors::Found Anchors::FindComputed(PyObject* value, PyObject* name, bool generic) {
  const Reference words = OrThrow(PyObject_CallFunctionObjArgs(
      classes_.reads_of.get(), value, name, generic ? Py_True : Py_False, nullptr));
  if (words.get() == Py_None) return {};
  int is_there = 0;
  PyObject *found = nullptr, *dictionaries = nullptr;
  if (!PyArg_ParseTuple(words.get(), "pOO!", &is_there, &found, &PyTuple_Type, &dictionaries)) {
    throw PythonError();
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(dictionaries); ++i) {
    if (!IsDictionary(PyTuple_GetItem(dictionaries, i))) return {};
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(dictionaries); ++i) {
    AddContent(PyTuple_GetItem(dictionaries, i));
  }
  if (!is_there) return {Presence::kAbsent};
  return {Presence::kPresent, found};
}

// A module's hooks that nobody may add to but through PyTorch, which counts them: most of a model's
// dictionaries.
bool Anchors::IsEmptyHooks(const Node& node, PyObject* value) const {
  if (node.step != Step::kAttribute || !node.argument || !IsDictionary(value) ||
      PyDict_Size(value) != 0) {
    return false;
  }
  PyObject* parent = Find(node.parent);
  return parent != nullptr && IsOf(parent, classes_.module) &&
         PySequence_Contains(classes_.hook_names.get(), node.argument.get()) == 1;
}

// Where only an attribute of a value's own could make a guard fail: the class; null for others.
PyTypeObject* Anchors::BareClass(const Guard& guard, PyObject* value) {
  if (value == nullptr || (guard.kind != Kind::kHasNoAttribute && guard.kind != Kind::kDynamic)) {
    return nullptr;
  }
  PyTypeObject* type = Py_TYPE(value);
  if (!MayBeBare(type)) return nullptr;
  const ClassFacts& facts = FactsOf(type);
  if (!facts.usable || !facts.plain || facts.fallback != 0) return nullptr;
  PyObject* name = guard.kind == Kind::kDynamic ? dynamic_.get() : guard.expected.get();
  const bool is_absent = std::ranges::none_of(facts.dictionaries, [&](const Reference& each) {
    return FindItem(each.get(), name) != nullptr;
  });
  return is_absent ? type : nullptr;
}

bool Anchors::IsProven(const Guard& guard) {
  PyObject* value = Find(guard.place);
  if (guard.kind == Kind::kLacks && value == nullptr && ClassBehind(guard.place) != nullptr) {
    return IsPlainKey(guard.expected.get());
  }
  if (value == nullptr) return false;
  const Owner* owner = OwnerOf(value);
  switch (guard.kind) {
    case Kind::kAsk:
      return false;
    case Kind::kTensor:
      return tensors_.contains(value);
    case Kind::kSame:
      return Find(guard.other) != nullptr;
    case Kind::kIs:
      return true;
    case Kind::kType:
      // Only the class of an instance of a class written in Python, and of a module, can be set.
      if (IsExactly(value, PyModule_Type) ||
          (PyType_GetFlags(Py_TYPE(value)) & Py_TPFLAGS_HEAPTYPE) != 0) {
        AddType(value);
      }
      return true;
    case Kind::kEquals:
      return IsImmutable(value, classes_.constants.get());
    case Kind::kLength:
      return hooks_.contains(value) || IsContent(value, "__len__") ||
             IsImmutable(value, classes_.constants.get());
    case Kind::kKeys:
      return contents_.contains(value);
    case Kind::kContains:
    case Kind::kLacks:
      return IsContent(value, "__contains__") && IsPlainKey(guard.expected.get());
    case Kind::kOwnLacks: {
      if (owner == nullptr) return false;
      const Reference own = Reference::Steal(
          PyObject_GenericGetAttr(value, OrThrow(PyUnicode_InternFromString("__dict__")).get()));
      if (!own) SwallowException();
      return own.get() == owner->dictionary;
    }
    case Kind::kHasAttribute:
    case Kind::kHasNoAttribute: {
      if (owner == nullptr) return false;
      const Presence wanted =
          guard.kind == Kind::kHasAttribute ? Presence::kPresent : Presence::kAbsent;
      return FindIn(value, *owner, guard.expected.get(), false).presence == wanted;
    }
    case Kind::kDynamic:
      // Dims of a parameter are never marked.
      if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == classes_.parameter.get()) return true;
      owner = AddOwner(value);
      return owner != nullptr &&
             FindIn(value, *owner, dynamic_.get(), false).presence == Presence::kAbsent;
  }
  return false;
}

}  // namespace stoker::guards
