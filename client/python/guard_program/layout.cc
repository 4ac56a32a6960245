#include "client/python/guard_program/layout.h"

#include <array>
#include <optional>
#include <utility>

namespace stoker::guards {
namespace {

constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);
constexpr long kDictionarySize = 48;
constexpr std::ptrdiff_t kDictionaryNumber = 24;  // After reference count, type, number of items.
constexpr std::ptrdiff_t kMaxTypeSize = 400;      // Of what PyTypeObject has in every version.
constexpr std::ptrdiff_t kMaxFunctionSize = 96;
constexpr std::ptrdiff_t kCellSize = 24;
constexpr std::ptrdiff_t kMaxTensorObject = 48;
constexpr std::uint64_t kDouble = 7;  // PyTorch's number of float64.

Reference Attribute(PyObject* object, const char* name) {
  return OrThrow(PyObject_GetAttrString(object, name));
}

// The one place after an object's type, in steps of a word, that holds `value`.
std::optional<std::ptrdiff_t> Find(const void* object, std::ptrdiff_t size, const void* value) {
  std::optional<std::ptrdiff_t> found;
  for (std::ptrdiff_t at = kTypeOffset + kWord; at + kWord <= size; at += kWord) {
    if (ObjectAt(object, at) != value) continue;
    if (found) return std::nullopt;
    found = at;
  }
  return found;
}

// Do dictionaries get a number that is greater than all before, when made and with every change?
bool NumbersRise() {
  const Reference first = OrThrow(PyDict_New()), key = OrThrow(PyUnicode_FromString("key"));
  std::uint64_t last = WordAt(first.get(), kDictionaryNumber);
  const auto has_risen = [&](const Reference& dictionary) {
    const std::uint64_t before = std::exchange(last, WordAt(dictionary.get(), kDictionaryNumber));
    return last > before;
  };
  const Reference second = OrThrow(PyDict_New());
  if (!has_risen(second)) return false;
  for (PyObject* value : {Py_None, Py_True}) {
    if (PyDict_SetItem(first.get(), key.get(), value) < 0) throw PythonError();
    if (!has_risen(first)) return false;
  }
  if (PyDict_Update(second.get(), first.get()) < 0) throw PythonError();
  if (!has_risen(second)) return false;
  if (PyDict_DelItem(first.get(), key.get()) < 0) throw PythonError();
  if (!has_risen(first)) return false;
  PyDict_Clear(second.get());
  return has_risen(second) && has_risen(OrThrow(PyDict_Copy(first.get())));
}

// A function with defaults and a closure, in Python.
Reference FunctionProbe() {
  const Reference globals = OrThrow(PyDict_New()), locals = OrThrow(PyDict_New());
  const Reference builtins = OrThrow(PyImport_ImportModule("builtins"));
  if (PyDict_SetItemString(globals.get(), "__builtins__", builtins.get()) < 0) throw PythonError();
  const Reference code =
      OrThrow(Py_CompileString("def outer(cell):\n  def probe(default=1.5): return cell\n  return "
                               "probe\nprobe = outer([])\n",
                               "<probe>", Py_file_input));
  OrThrow(PyEval_EvalCode(code.get(), globals.get(), locals.get()));
  return Reference::Share(PyDict_GetItemString(locals.get(), "probe"));
}

std::optional<PythonLayout> LookAtPython() {
  const unsigned long version = Py_Version >> 16;
  if (version != 0x030B && version != 0x030C) return std::nullopt;
  const Reference size = Attribute(reinterpret_cast<PyObject*>(&PyDict_Type), "__basicsize__");
  if (PyLong_AsLong(size.get()) != kDictionarySize || !NumbersRise()) return std::nullopt;

  const Reference probe = FunctionProbe();
  const Reference order = Attribute(reinterpret_cast<PyObject*>(Py_TYPE(probe.get())), "__mro__");
  const Reference closure = Attribute(probe.get(), "__closure__");
  PyObject* cell = PyTuple_GetItem(closure.get(), 0);
  if (cell == nullptr) throw PythonError();
  const auto class_order = Find(Py_TYPE(probe.get()), kMaxTypeSize, order.get());
  const auto contents = Find(cell, kCellSize, Attribute(cell, "cell_contents").get());
  const auto code = Find(probe.get(), kMaxFunctionSize, Attribute(probe.get(), "__code__").get());
  const auto defaults =
      Find(probe.get(), kMaxFunctionSize, Attribute(probe.get(), "__defaults__").get());
  if (!class_order || !contents || !code || !defaults) return std::nullopt;
  return PythonLayout{kDictionaryNumber, *class_order, *contents, *code, *defaults};
}

std::optional<TensorLayout> LookAtTensor(PyObject* probe, std::uint64_t keys) {
  const Reference address = Attribute(probe, "_cdata");
  const auto* memory = static_cast<const char*>(PyLong_AsVoidPtr(address.get()));
  if (memory == nullptr) throw PythonError();
  const auto implementation = Find(probe, kMaxTensorObject, memory);
  if (!implementation) return std::nullopt;
  using Words = std::array<std::pair<std::ptrdiff_t, std::uint64_t>, 8>;
  for (const auto& [offset, expected] : Words{{{TensorLayout::kDims, 2},
                                               {TensorLayout::kSizes, 2},
                                               {TensorLayout::kSizes + kWord, 3},
                                               {TensorLayout::kStrides, 7},
                                               {TensorLayout::kStrides + kWord, 2},
                                               {TensorLayout::kElements, 6},
                                               {TensorLayout::kExtra, 0},
                                               {TensorLayout::kKeys, keys}}}) {
    if (WordAt(memory, offset) != expected) return std::nullopt;
  }
  if ((WordAt(memory, TensorLayout::kKind) & 0xFFFF) != kDouble) return std::nullopt;
  for (const bool requires_gradient : {true, false, true}) {
    OrThrow(
        PyObject_CallMethod(probe, "requires_grad_", "O", requires_gradient ? Py_True : Py_False));
    const char* gradient = reinterpret_cast<const char*>(ObjectAt(memory, TensorLayout::kGradient));
    if (gradient == nullptr || WordAt(gradient, TensorLayout::kGradientFunction) != 0 ||
        gradient[TensorLayout::kRequiresGradient] != static_cast<char>(requires_gradient)) {
      return std::nullopt;
    }
  }
  return TensorLayout{*implementation};
}

// A layout that cannot be looked at is one that is not known.
auto OrNothing(auto look) -> decltype(look()) {
  try {
    return look();
  } catch (const PythonError&) {
    SwallowException();
    return std::nullopt;
  }
}

std::optional<TensorLayout> g_tensor_layout;  // Of the process's PyTorch. With the GIL.

}  // namespace

const PythonLayout* PythonLayout::Get() {
  static const std::optional<PythonLayout> kLayout = OrNothing(LookAtPython);
  return kLayout ? &*kLayout : nullptr;
}

bool TensorLayout::Learn(PyObject* probe, std::uint64_t keys) {
  g_tensor_layout = OrNothing([&] { return LookAtTensor(probe, keys); });
  return g_tensor_layout.has_value();
}

const TensorLayout* TensorLayout::Get() { return g_tensor_layout ? &*g_tensor_layout : nullptr; }

}  // namespace stoker::guards
