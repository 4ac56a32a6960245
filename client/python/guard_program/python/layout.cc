#include "client/python/guard_program/python/layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "client/python/guard_program/python/dictionaries.h"
#include "client/python/guard_program/python/probe.h"

namespace stoker::guards {
namespace {

constexpr std::ptrdiff_t kMaxTypeSize = 400;  // Of what PyTypeObject has in every version.
constexpr std::ptrdiff_t kMaxFunctionSize = 96;
constexpr std::ptrdiff_t kCellSize = 24;
constexpr std::ptrdiff_t kMaxTensorObject = 48;
constexpr std::ptrdiff_t kMaxDimsOffset = 96;   // In a TensorImpl.
constexpr std::ptrdiff_t kMaxStorageData = 48;  // In a StorageImpl.
constexpr std::ptrdiff_t kMaxStorageBytes = 64;
constexpr std::size_t kMaxAutogradMeta = 160;  // Bytes that one has in every version.
constexpr std::uint64_t kDouble = 7;           // PyTorch's number of float64.

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

// Where the number of dims lies, with the rest of the probe's metadata around it.
std::optional<std::ptrdiff_t> FindDims(const char* memory, std::uint64_t keys) {
  using Words = std::array<std::pair<std::ptrdiff_t, std::uint64_t>, 7>;
  const Words expected{{{0, 2},
                        {TensorLayout::kSizes, 2},
                        {TensorLayout::kSizes + kWord, 3},
                        {TensorLayout::kStrides, 7},
                        {TensorLayout::kStrides + kWord, 2},
                        {TensorLayout::kElements, 6},
                        {TensorLayout::kKeys, keys}}};
  for (std::ptrdiff_t at = TensorLayout::kExtra + kWord; at <= kMaxDimsOffset; at += kWord) {
    const bool all = std::ranges::all_of(
        expected, [&](const auto& word) { return WordAt(memory, at + word.first) == word.second; });
    if (all && (WordAt(memory, at + TensorLayout::kKind) & 0xFFFF) == kDouble) return at;
  }
  return std::nullopt;
}

// The one byte of an AutogradMeta that tells whether a gradient is required: it follows every
// change, and no other byte does.
std::optional<std::ptrdiff_t> FindRequiresGradient(PyObject* probe, const char* memory) {
  using Bytes = std::array<char, kMaxAutogradMeta>;
  std::array<Bytes, 4> seen{};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    OrThrow(PyObject_CallMethod(probe, "requires_grad_", "O", i % 2 == 0 ? Py_True : Py_False));
    const auto* gradient = reinterpret_cast<const char*>(ObjectAt(memory, TensorLayout::kGradient));
    if (gradient == nullptr || WordAt(gradient, TensorLayout::kGradientFunction) != 0) return {};
    std::memcpy(seen[i].data(), gradient, kMaxAutogradMeta);
  }
  std::optional<std::ptrdiff_t> found;
  for (std::size_t at = 0; at < kMaxAutogradMeta; ++at) {
    bool follows = true;
    for (std::size_t i = 0; i < seen.size(); ++i) follows &= seen[i][at] == (i % 2 == 0 ? 1 : 0);
    if (!follows) continue;
    if (found) return std::nullopt;
    found = static_cast<std::ptrdiff_t>(at);
  }
  return found;
}

// Does what a gradient flows through lie where it is looked for? `probe` requires a gradient.
bool HasGradientFunction(PyObject* probe, std::ptrdiff_t implementation) {
  const Reference result = OrThrow(PyObject_CallMethod(probe, "clone", nullptr));
  const auto* memory = reinterpret_cast<const char*>(ObjectAt(result.get(), implementation));
  const auto* gradient = reinterpret_cast<const char*>(ObjectAt(memory, TensorLayout::kGradient));
  return gradient != nullptr && WordAt(gradient, TensorLayout::kGradientFunction) != 0;
}

std::uint64_t NumberOf(const Reference& number) {
  const std::uint64_t found = PyLong_AsUnsignedLongLong(number.get());
  if (found == static_cast<std::uint64_t>(-1) && PyErr_Occurred()) throw PythonError();
  return found;
}

// Where a StorageImpl has the address of its memory, and a tensor its storage and its offset in it;
// 0 where it is otherwise.
std::ptrdiff_t FindStorageData(PyObject* probe, const TensorLayout& layout) {
  const char* memory = At(probe, layout.implementation);
  const char* storage = At(memory, TensorLayout::kStorage);
  const Reference own = OrThrow(PyObject_CallMethod(probe, "untyped_storage", nullptr));
  if (storage == nullptr ||
      NumberOf(Attribute(own.get(), "_cdata")) != reinterpret_cast<std::uintptr_t>(storage)) {
    return 0;
  }
  const std::ptrdiff_t offset = layout.dims + TensorLayout::kOffset;
  const Reference row = OrThrow(PyObject_CallMethod(probe, "select", "ii", 0, 1));
  const char* row_memory = At(row.get(), layout.implementation);
  constexpr std::uint64_t kRow = 7;  // The probe's stride.
  if (WordAt(memory, offset) != 0 || WordAt(row_memory, offset) != kRow ||
      At(row_memory, TensorLayout::kStorage) != storage) {
    return 0;
  }
  const std::uint64_t data = NumberOf(OrThrow(PyObject_CallMethod(probe, "data_ptr", nullptr)));
  // What frees the memory may be at the same address, and stay where it is when the memory moves.
  std::ptrdiff_t found = 0;
  for (std::ptrdiff_t at = TensorLayout::kStorage; at <= kMaxStorageData; at += kWord) {
    if (WordAt(storage, at) != data) continue;
    if (found != 0) return 0;
    found = at;
  }
  return found;
}

// Where a StorageImpl has the bytes of its memory, and what frees that; false where it is
// otherwise. The probe's is freed by something else, that of a copy is as PyTorch's allocators give
// it.
bool FindStorageBytes(PyObject* probe, TensorLayout& layout) {
  struct Seen {
    const char* storage;
    std::uint64_t data, bytes;
  };
  const auto look = [&](PyObject* tensor) {
    const Reference own = OrThrow(PyObject_CallMethod(tensor, "untyped_storage", nullptr));
    return Seen{At(At(tensor, layout.implementation), TensorLayout::kStorage),
                NumberOf(OrThrow(PyObject_CallMethod(own.get(), "data_ptr", nullptr))),
                NumberOf(OrThrow(PyObject_CallMethod(own.get(), "nbytes", nullptr)))};
  };
  const Reference view = OrThrow(PyObject_CallMethod(probe, "detach", nullptr));
  const Reference copy = OrThrow(PyObject_CallMethod(view.get(), "clone", nullptr));
  const Seen ours = look(probe);
  const Seen its = look(copy.get());
  if (ours.bytes == its.bytes || WordAt(its.storage, layout.storage_data) != its.data) return false;
  std::ptrdiff_t bytes = 0;
  std::ptrdiff_t owner = 0;
  for (std::ptrdiff_t at = TensorLayout::kStorage; at <= kMaxStorageBytes; at += kWord) {
    const std::uint64_t own = WordAt(ours.storage, at);
    const std::uint64_t other = WordAt(its.storage, at);
    if (own == ours.bytes && other == its.bytes) {
      if (bytes != 0) return false;
      bytes = at;
    }
    if (at != layout.storage_data && own != ours.data && other == its.data) {
      if (owner != 0) return false;
      owner = at;
    }
  }
  if (bytes == 0 || owner == 0) return false;
  layout.storage_bytes = bytes;
  layout.storage_owner = owner;
  return true;
}

// Where what counts a tensor's versions has its count; 0 where it is otherwise. A view that is
// detached counts with the probe, a copy by itself.
std::ptrdiff_t FindVersion(PyObject* probe, const TensorLayout& layout) {
  constexpr std::ptrdiff_t kCount = 16;  // Behind a table of functions and two counts of owners.
  const auto counter_of = [&](const Reference& tensor) {
    return At(At(tensor.get(), layout.implementation), TensorLayout::kVersions);
  };
  const Reference view = OrThrow(PyObject_CallMethod(probe, "detach", nullptr));
  const Reference copy = OrThrow(PyObject_CallMethod(view.get(), "clone", nullptr));
  const char* counter = counter_of(view);
  if (counter == nullptr || counter_of(Reference::Share(probe)) != counter ||
      counter_of(copy) == counter) {
    return 0;
  }
  for (int i = 0; i < 3; ++i) {
    if (NumberOf(Attribute(probe, "_version")) != HalfWordAt(counter, kCount)) return 0;
    OrThrow(PyObject_CallMethod(view.get(), "zero_", nullptr));
  }
  return HalfWordAt(counter, kCount) >= 3 ? kCount : 0;
}

std::optional<TensorLayout> LookAtTensor(PyObject* probe, std::uint64_t keys) {
  const Reference address = Attribute(probe, "_cdata");
  const auto* memory = static_cast<const char*>(PyLong_AsVoidPtr(address.get()));
  if (memory == nullptr) throw PythonError();
  const auto implementation = Find(probe, kMaxTensorObject, memory);
  const auto dims = FindDims(memory, keys);
  if (!implementation || !dims || WordAt(memory, TensorLayout::kExtra) != 0) return std::nullopt;
  const auto requires_gradient = FindRequiresGradient(probe, memory);
  if (!requires_gradient) return std::nullopt;
  OrThrow(PyObject_CallMethod(probe, "requires_grad_", "O", Py_True));
  if (!HasGradientFunction(probe, *implementation)) return std::nullopt;
  TensorLayout layout{*implementation, *dims, *requires_gradient};
  layout.storage_data = FindStorageData(probe, layout);
  if (layout.storage_data != 0 && !FindStorageBytes(probe, layout)) layout.storage_bytes = 0;
  layout.version = FindVersion(probe, layout);
  return layout;
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
