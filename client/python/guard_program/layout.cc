#include "client/python/guard_program/layout.h"

#include <array>
#include <optional>
#include <utility>

#include "client/python/guard_program/dictionaries.h"
#include "client/python/guard_program/probe.h"

namespace stoker::guards {
namespace {

constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);
constexpr std::ptrdiff_t kMaxTypeSize = 400;  // Of what PyTypeObject has in every version.
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

// A function with defaults and a closure.
constexpr const char* kFunction =
    "def outer(cell):\n  def probe(default=1.5): return cell\n  return probe\nprobe = outer([])\n";
// Objects that have attributes; of all classes from CPython 3.13 on, only those whose instances
// differ in size have none in them.
constexpr std::array kObjects = {"class Probe(list): pass\nprobe = Probe()\nprobe.x = 1\n",
                                 "class Probe(tuple): pass\nprobe = Probe()\nprobe.x = 1\n"};

// Does IsBare() tell the truth about what it may be asked about?
bool AreManagedAsKnown() {
  for (const char* text : kObjects) {
    const Reference probe = MakeProbe(text);
    if (!MayBeBare(Py_TYPE(probe.get()))) continue;
    const bool is_bare = IsBare(probe.get());
    const Reference own = OrThrow(PyObject_GenericGetDict(probe.get(), nullptr));
    if (is_bare || ObjectAt(probe.get(), kManagedSlot) != own.get()) return false;
  }
  return true;
}

std::optional<PythonLayout> LookAtPython() {
  if (!DictionaryNumber::AreKnown() || !AreManagedAsKnown()) return std::nullopt;
  const Reference probe = MakeProbe(kFunction);
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
  return PythonLayout{*class_order, *contents, *code, *defaults};
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
