#include "client/python/guard_program/checks.h"

#include <dlfcn.h>

#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "client/python/guard_program/python/every_call.h"
#include "client/python/guard_program/python/types.h"

namespace stoker::guards {
namespace {

constexpr int kMaxNesting = 16;  // Of tuples in a constant.

constexpr std::array<std::pair<std::string_view, Kind>, 13> kKinds = {{
    {"same", Kind::kSame},
    {"is", Kind::kIs},
    {"type", Kind::kType},
    {"equals", Kind::kEquals},
    {"tensor", Kind::kTensor},
    {"length", Kind::kLength},
    {"keys", Kind::kKeys},
    {"contains", Kind::kContains},
    {"lacks", Kind::kLacks},
    {"has attribute", Kind::kHasAttribute},
    {"has no attribute", Kind::kHasNoAttribute},
    {"own attributes lack", Kind::kOwnLacks},
    {"dynamic", Kind::kDynamic},
}};

[[noreturn]] void Malformed() {
  PyErr_SetString(PyExc_ValueError, "A guard is malformed.");
  throw PythonError();
}

Kind ReadKind(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) throw PythonError();
  const std::string_view name(data, static_cast<std::size_t>(size));
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  return Kind::kAsk;
}

Reference Name(const char* text) { return OrThrow(PyUnicode_InternFromString(text)); }

// Of one of `nodes` nodes.
int PlaceOf(PyObject* number, std::size_t nodes) {
  const long place = PyLong_AsLong(number);
  if (place == -1 && PyErr_Occurred()) throw PythonError();
  if (place < 0 || static_cast<std::size_t>(place) >= nodes) Malformed();
  return static_cast<int>(place);
}

Reference Interned(PyObject* text) {
  if (!PyUnicode_CheckExact(text)) Malformed();
  Py_INCREF(text);
  PyUnicode_InternInPlace(&text);
  return Reference::Steal(text);
}

Reference Item(PyObject* words, const char* name) {
  PyObject* found = PyDict_GetItemString(words, name);
  if (found == nullptr) Malformed();
  return Reference::Share(found);
}

std::optional<TensorFacts> ReadTensor(PyObject* words, PyObject* constants) {
  if (!PyDict_Check(words)) Malformed();
  TensorFacts facts;
  PyObject* dtype = PyDict_GetItemWithError(constants, Item(words, "dtype").get());
  if (dtype == nullptr) return std::nullopt;
  facts.dtype = Reference::Share(dtype);
  facts.device = Item(words, "device");
  facts.requires_grad = Item(words, "requires_grad");
  facts.size = OrThrow(PySequence_Tuple(Item(words, "size").get()));
  facts.stride = OrThrow(PySequence_Tuple(Item(words, "stride").get()));
  facts.keys = Item(words, "keys");
  return facts;
}

bool AreEqual(PyObject* left, PyObject* right) {
  const int equal = PyObject_RichCompareBool(left, right, Py_EQ);
  if (equal < 0) SwallowException();
  return equal == 1;
}

// A tuple of sizes against one with None where any will do.
bool FitsSizes(PyObject* found, PyObject* expected) {
  if (!PyTuple_Check(found) || PyTuple_Size(found) != PyTuple_Size(expected)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(expected); ++i) {
    PyObject* wanted = PyTuple_GetItem(expected, i);
    if (wanted != Py_None && !AreEqual(PyTuple_GetItem(found, i), wanted)) return false;
  }
  return true;
}

bool HaveEqualKeys(PyObject* mapping, PyObject* expected) {
  if (!PyDict_Check(mapping) || PyDict_Size(mapping) != PyList_Size(expected)) return false;
  Py_ssize_t position = 0, number = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(mapping, &position, &key, nullptr)) {
    if (number == PyList_Size(expected)) return false;
    PyObject* wanted = PyList_GetItem(expected, number++);
    if (!PyUnicode_CheckExact(key) || PyUnicode_Compare(key, wanted) != 0) return false;
  }
  return true;
}

bool AreTexts(PyObject* list) {
  if (!PyList_Check(list)) return false;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    if (!PyUnicode_CheckExact(PyList_GetItem(list, i))) return false;
  }
  return true;
}

// Two constants; `compare` decides only about what neither nesting nor type decides.
bool Same(PyObject* left, PyObject* right, int depth) {
  if (Py_TYPE(left) != Py_TYPE(right) || depth > kMaxNesting) return false;
  if (left == Py_None || IsExactly(left, PyBool_Type)) return left == right;
  if (IsExactly(left, PyLong_Type)) return AreEqual(left, right);
  if (IsExactly(left, PyUnicode_Type)) return PyUnicode_Compare(left, right) == 0;
  if (IsExactly(left, PyFloat_Type)) {
    const double a = PyFloat_AsDouble(left), b = PyFloat_AsDouble(right);
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  if (!IsExactly(left, PyTuple_Type) || PyTuple_Size(left) != PyTuple_Size(right)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(left); ++i) {
    if (!Same(PyTuple_GetItem(left, i), PyTuple_GetItem(right, i), depth + 1)) return false;
  }
  return true;
}

bool Immutable(PyObject* value, PyObject* types, int depth) {
  for (const PyTypeObject* type : {&PyBool_Type, &PyLong_Type, &PyFloat_Type, &PyComplex_Type,
                                   &PyUnicode_Type, &PyBytes_Type}) {
    if (IsExactly(value, *type)) return true;
  }
  if (value == Py_None) return true;
  for (Py_ssize_t i = 0; i < PyTuple_Size(types); ++i) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == PyTuple_GetItem(types, i)) return true;
  }
  if (!IsExactly(value, PyTuple_Type) || depth > kMaxNesting) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(value); ++i) {
    if (!Immutable(PyTuple_GetItem(value, i), types, depth + 1)) return false;
  }
  return true;
}

}  // namespace

Reference FindAttribute(PyObject* value, PyObject* name) {
  // Not of the stable ABI, and so looked up: they make no exception where there is no attribute.
  using Find = int (*)(PyObject*, PyObject*, PyObject**);
  static const Find kFind = [] {
    void* found = dlsym(RTLD_DEFAULT, "PyObject_GetOptionalAttr");
    if (found == nullptr) found = dlsym(RTLD_DEFAULT, "_PyObject_LookupAttr");
    return reinterpret_cast<Find>(found);
  }();
  PyObject* found = nullptr;
  if (kFind != nullptr) {
    kFind(value, name, &found);
  } else {
    found = PyObject_GetAttr(value, name);
    if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  }
  return Reference::Steal(found);
}

bool SameConstant(PyObject* left, PyObject* right) { return Same(left, right, 0); }

bool IsImmutable(PyObject* value, PyObject* types) { return Immutable(value, types, 0); }

void Proof::Set(PyObject* object) {
  is_weak_ = IsFunction(object);
  held_ = is_weak_ ? OrThrow(PyWeakref_NewRef(object, nullptr)) : Reference::Share(object);
}

STOKER_EVERY_CALL bool Proof::Is(PyObject* object) const {
  if (!is_weak_) return object == held_.get();
  return object != Py_None && object == PyWeakref_GetObject(held_.get());  // None once it died.
}

bool AskTheSame(const Guard& left, const Guard& right) {
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case Kind::kAsk:
    case Kind::kTensor:
    case Kind::kKeys:
      return false;
    case Kind::kSame:
    case Kind::kDynamic:
      return true;
    case Kind::kIs:
      return left.words == right.words;
    case Kind::kType:
      return left.proof == right.proof;
    case Kind::kLength:
      return left.length == right.length;
    case Kind::kEquals:
    case Kind::kContains:
    case Kind::kLacks:
    case Kind::kHasAttribute:
    case Kind::kHasNoAttribute:
    case Kind::kOwnLacks:
      return SameConstant(left.expected.get(), right.expected.get());
  }
  return false;
}

Checks::Checks(PyObject* record, std::size_t nodes, PyObject* decode, PyObject* constants,
               Callables callables)
    : callables_(std::move(callables)),
      dtype_(Name("dtype")),
      shape_(Name("shape")),
      stride_(Name("stride")),
      requires_grad_(Name("requires_grad")),
      device_(Name("device")),
      type_(Name("type")),
      raw_repr_(Name("raw_repr")),
      dynamic_(Name(kDynamicIndices)),
      own_(Name("__dict__")) {
  if (!PyList_Check(record)) Malformed();
  const Reference same_words = OrThrow(PyDict_New());
  for (Py_ssize_t i = 0; i < PyList_Size(record); ++i) {
    PyObject* words = PyList_GetItem(record, i);
    if (!PyList_Check(words) || PyList_Size(words) != 4) Malformed();
    Guard guard;
    guard.place = PlaceOf(PyList_GetItem(words, 0), nodes);
    guard.kind = ReadKind(PyList_GetItem(words, 1));
    PyObject* expected = PyList_GetItem(words, 2);
    guard.expected = Reference::Share(expected);
    if (guard.kind == Kind::kSame) {
      guard.other = PlaceOf(expected, nodes);
    } else {
      ReadExpected(guard, expected, decode, constants, same_words.get());
    }
    guards_.push_back(std::move(guard));
  }
}

void Checks::ReadExpected(Guard& guard, PyObject* expected, PyObject* decode, PyObject* constants,
                          PyObject* same_words) {
  switch (guard.kind) {
    case Kind::kAsk:
    case Kind::kSame:
    case Kind::kDynamic:
      break;
    case Kind::kLength:
      guard.length = PyLong_AsLong(expected);
      if (guard.length == -1 && PyErr_Occurred()) throw PythonError();
      break;
    case Kind::kIs:
      guard.proof = NewProof();
      guard.words = ProofOf(guard.kind, expected, same_words);
      break;
    case Kind::kType:
      guard.proof = ProofOf(guard.kind, expected, same_words);
      break;
    case Kind::kEquals:
    case Kind::kContains:
    case Kind::kLacks:
      if (PyDict_Check(expected)) {
        guard.expected = Reference::Steal(PyObject_CallFunctionObjArgs(decode, expected, nullptr));
        if (!guard.expected) {  // The reference says what that means.
          SwallowException();
          guard.kind = Kind::kAsk;
        }
      }
      if (guard.kind == Kind::kEquals) guard.proof = NewProof();
      break;
    case Kind::kTensor:
      guard.tensor = ReadTensor(expected, constants);
      if (!guard.tensor) guard.kind = Kind::kAsk;
      break;
    case Kind::kKeys:
      if (!AreTexts(expected)) guard.kind = Kind::kAsk;
      break;
    case Kind::kHasAttribute:
    case Kind::kHasNoAttribute:
    case Kind::kOwnLacks:
      guard.expected = Interned(expected);
      break;
  }
}

int Checks::NewProof() {
  proofs_.emplace_back();
  return static_cast<int>(proofs_.size() - 1);
}

int Checks::ProofOf(Kind kind, PyObject* expected, PyObject* same_words) {
  const Reference text = OrThrow(PyObject_Repr(expected));
  const Reference key = OrThrow(Py_BuildValue("(iO)", static_cast<int>(kind), text.get()));
  PyObject* known = PyDict_GetItemWithError(same_words, key.get());
  if (known != nullptr) return static_cast<int>(PyLong_AsLong(known));
  const int proof = NewProof();
  const Reference number = OrThrow(PyLong_FromLong(proof));
  if (PyDict_SetItem(same_words, key.get(), number.get()) < 0) throw PythonError();
  return proof;
}

bool Checks::Holds(std::size_t number, Values& values) {
  return Holds(number, values, guards_[number].place, guards_[number].other);
}

bool Checks::Holds(std::size_t number, Values& values, int place, int other_place) {
  Guard& guard = guards_[number];
  PyObject* value = values.Get(place);
  PyObject* other = other_place == kNoNode ? nullptr : values.Get(other_place);
  if (value == nullptr) return false;
  // The value may be borrowed from a container that what runs here changes.
  const Reference kept = Reference::Share(value);
  if (Proves(guard, value, other)) return true;
  if (PyErr_Occurred()) SwallowException();
  return guard.kind != Kind::kSame && !IsElsewhere(guard, value) && Ask(number, value);
}

STOKER_EVERY_CALL bool Checks::HoldsAtOnce(std::size_t number, PyObject* value) const {
  const Guard& guard = guards_[number];
  if (guard.kind == Kind::kType) {
    return proofs_[static_cast<std::size_t>(guard.proof)].Is(
        reinterpret_cast<PyObject*>(Py_TYPE(value)));
  }
  if (guard.kind != Kind::kTensor || !guard.tensor->seen) return false;
  return PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(callables_.tensor.get())) != 0 &&
         guard.tensor->seen->Equals(value, *TensorLayout::Get());
}

STOKER_EVERY_CALL void Checks::Prefetch(std::size_t number) const {
  guards::Prefetch(&guards_[number], sizeof(Guard));
}

bool Checks::Proves(Guard& guard, PyObject* value, PyObject* other) {
  switch (guard.kind) {
    case Kind::kAsk:
      return false;
    case Kind::kSame:
      return value == other;
    case Kind::kIs:
      return ProvesIdentity(guard, value);
    case Kind::kType:
      return proofs_[static_cast<std::size_t>(guard.proof)].Is(
          reinterpret_cast<PyObject*>(Py_TYPE(value)));
    case Kind::kEquals:
      return proofs_[static_cast<std::size_t>(guard.proof)].Is(value) ||
             SameConstant(value, guard.expected.get());
    case Kind::kTensor:
      return ProvesTensor(*guard.tensor, value);
    case Kind::kLength:
      return PyObject_Size(value) == guard.length;
    case Kind::kKeys:
      return HaveEqualKeys(value, guard.expected.get());
    case Kind::kContains:
      return PySequence_Contains(value, guard.expected.get()) == 1;
    case Kind::kLacks:
      return PySequence_Contains(value, guard.expected.get()) == 0;
    case Kind::kHasAttribute:
      return static_cast<bool>(FindAttribute(value, guard.expected.get()));
    case Kind::kHasNoAttribute:
      return !FindAttribute(value, guard.expected.get()) && !PyErr_Occurred();
    case Kind::kOwnLacks: {
      const Reference own = Reference::Steal(PyObject_GenericGetAttr(value, own_.get()));
      return own && PySequence_Contains(own.get(), guard.expected.get()) == 0;
    }
    case Kind::kDynamic:
      return !FindAttribute(value, dynamic_.get()) && !PyErr_Occurred();
  }
  return false;
}

bool Checks::ProvesTensor(TensorFacts& facts, PyObject* value) {
  if (!PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(callables_.tensor.get()))) {
    return false;
  }
  if (facts.seen && facts.seen->Equals(value, *TensorLayout::Get())) return true;
  return AsksTensor(facts, value);
}

// Is it a tensor of a device other than the one before?
bool Checks::IsElsewhere(const Guard& guard, PyObject* value) {
  if (guard.kind != Kind::kTensor || !guard.tensor->seen_device) return false;
  const Reference device = Reference::Steal(PyObject_GetAttr(value, device_.get()));
  if (!device) SwallowException();
  return !device || !AreEqual(device.get(), guard.tensor->seen_device.get());
}

bool Checks::AsksTensor(TensorFacts& facts, PyObject* value) {
  const Reference dtype = Reference::Steal(PyObject_GetAttr(value, dtype_.get()));
  if (dtype.get() != facts.dtype.get()) return false;
  const Reference gradient = Reference::Steal(PyObject_GetAttr(value, requires_grad_.get()));
  if (gradient.get() != facts.requires_grad.get()) return false;
  const Reference shape = Reference::Steal(PyObject_GetAttr(value, shape_.get()));
  if (!shape || !FitsSizes(shape.get(), facts.size.get())) return false;
  const Reference stride =
      Reference::Steal(PyObject_CallMethodObjArgs(value, stride_.get(), nullptr));
  if (!stride || !FitsSizes(stride.get(), facts.stride.get())) return false;
  const Reference device = Reference::Steal(PyObject_GetAttr(value, device_.get()));
  if (!device) return false;
  const Reference device_type = Reference::Steal(PyObject_GetAttr(device.get(), type_.get()));
  if (!device_type || !AreEqual(device_type.get(), facts.device.get())) return false;
  if (facts.seen_device && !AreEqual(device.get(), facts.seen_device.get())) return false;
  const Reference keys = Reference::Steal(
      PyObject_CallFunctionObjArgs(callables_.dispatch_keys.get(), value, nullptr));
  if (!keys) return false;
  const Reference raw =
      Reference::Steal(PyObject_CallMethodObjArgs(keys.get(), raw_repr_.get(), nullptr));
  if (!raw || !AreEqual(raw.get(), facts.keys.get())) return false;
  facts.seen_device = device;
  const TensorLayout* layout = TensorLayout::Get();
  facts.seen = layout == nullptr ? std::nullopt : Metadata::Of(value, *layout);
  if (facts.seen && !facts.seen->Has(shape.get(), stride.get())) facts.seen.reset();
  return true;
}

// Two objects of the same words are two: the words that another guard's object has prove this
// guard's first object, and no later one.
bool Checks::ProvesIdentity(const Guard& guard, PyObject* value) {
  Proof& own = proofs_[static_cast<std::size_t>(guard.proof)];
  if (own.known()) return own.Is(value);
  if (!proofs_[static_cast<std::size_t>(guard.words)].Is(value)) return false;
  own.Set(value);
  return true;
}

bool Checks::Ask(std::size_t number, PyObject* value) {
  ++asked_;
  const Reference index = OrThrow(PyLong_FromSize_t(number));
  const Reference answer = Reference::Steal(
      PyObject_CallFunctionObjArgs(callables_.ask.get(), index.get(), value, nullptr));
  if (!answer) {
    SwallowException();
    return false;
  }
  if (answer.get() != Py_True) return false;
  const Guard& guard = guards_[number];
  if (guard.kind == Kind::kIs) {
    proofs_[static_cast<std::size_t>(guard.proof)].Set(value);
    proofs_[static_cast<std::size_t>(guard.words)].Set(value);
  } else if (guard.kind == Kind::kType) {
    proofs_[static_cast<std::size_t>(guard.proof)].Set(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  } else if (guard.kind == Kind::kEquals && IsImmutable(value, callables_.constants.get())) {
    proofs_[static_cast<std::size_t>(guard.proof)].Set(value);
  }
  return true;
}

int Checks::Visit(visitproc visit, void* arg) const {
  for (const Guard& guard : guards_) Py_VISIT(guard.expected.get());
  for (const Proof& proof : proofs_) Py_VISIT(proof.held());
  Py_VISIT(callables_.ask.get());
  return 0;
}

}  // namespace stoker::guards
