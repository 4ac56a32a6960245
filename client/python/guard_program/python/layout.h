#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

inline constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);

inline std::uint64_t WordAt(const void* memory, std::ptrdiff_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, static_cast<const char*>(memory) + offset, sizeof word);
  return word;
}

inline std::uint32_t HalfWordAt(const void* memory, std::ptrdiff_t offset) {
  std::uint32_t half = 0;
  std::memcpy(&half, static_cast<const char*>(memory) + offset, sizeof half);
  return half;
}

inline PyObject* ObjectAt(const void* memory, std::ptrdiff_t offset) {
  PyObject* object = nullptr;
  std::memcpy(&object, static_cast<const char*>(memory) + offset, sizeof object);
  return object;
}

// The address that lies there.
inline const char* At(const void* memory, std::ptrdiff_t offset) {
  return reinterpret_cast<const char*>(ObjectAt(memory, offset));
}

constexpr std::ptrdiff_t kTypeOffset = offsetof(PyObject, ob_type);
// Where an object of a class with Py_TPFLAGS_MANAGED_DICT has its dictionary.
constexpr std::ptrdiff_t kManagedSlot = -24;
constexpr unsigned long kManagedDictionary = 1UL << 4;
// Of a class whose instances have attributes in them: from CPython 3.13 on.
constexpr unsigned long kInlineValues = 1UL << 2;

// Is there one place that tells whether an object of the class has attributes of its own?
inline bool MayBeBare(PyTypeObject* type) {
  return (PyType_GetFlags(type) & (kManagedDictionary | kInlineValues)) == kManagedDictionary;
}

// Has an object of such a class none?
inline bool IsBare(const PyObject* object) {
  return ObjectAt(object, kManagedSlot) == nullptr &&
         ObjectAt(object, kManagedSlot - static_cast<std::ptrdiff_t>(sizeof(PyObject*))) == nullptr;
}

// Where CPython keeps what a Watch looks at. Offsets are in bytes from an object's address.
struct PythonLayout {
  std::ptrdiff_t class_order = 0;  // __mro__
  std::ptrdiff_t cell_contents = 0;
  std::ptrdiff_t function_code = 0;
  std::ptrdiff_t function_defaults = 0;

  // Found by looking at objects made for it; null where states of dictionaries have no numbers, and
  // where something lies elsewhere.
  static const PythonLayout* Get();
};

// Where PyTorch keeps the metadata of a tensor. Offsets are in bytes.
struct TensorLayout {
  std::ptrdiff_t implementation = 0;  // From the Python object: the address of its TensorImpl.

  // From the TensorImpl: how many dims it has. What follows lies behind it at the same distances in
  // every version; what precedes it differs.
  std::ptrdiff_t dims = 0;
  // From the AutogradMeta: one byte.
  std::ptrdiff_t requires_gradient = 0;
  // From the StorageImpl: the address of its memory. 0: storages do not lie as said here.
  std::ptrdiff_t storage_data = 0;
  // Likewise: how many bytes that has, and what frees it, which is its own address where nothing
  // else has a hold of it. 0: they do not lie as said here.
  std::ptrdiff_t storage_bytes = 0;
  std::ptrdiff_t storage_owner = 0;
  // From what counts a tensor's versions: the count, of 32 bits. 0: it does not lie as said here.
  std::ptrdiff_t version = 0;

  static constexpr std::ptrdiff_t kStorage = 16;   // Address of its StorageImpl, or null.
  static constexpr std::ptrdiff_t kGradient = 24;  // Address of its AutogradMeta, or null.
  static constexpr std::ptrdiff_t kExtra = 32;     // Address of its ExtraMeta, or null.
  static constexpr std::ptrdiff_t kVersions = 40;  // Address of what counts its versions, or null.
  // From where the number of dims is.
  static constexpr std::ptrdiff_t kSizes = 8;     // In place up to kMaxDims.
  static constexpr std::ptrdiff_t kStrides = 48;  // In place up to kMaxDims.
  static constexpr std::ptrdiff_t kOffset =
      88;  // Of its first element in its storage, in elements.
  static constexpr std::ptrdiff_t kElements = 96;  // Number of elements.
  static constexpr std::ptrdiff_t kKind = 104;     // Dtype, device and flags.
  static constexpr std::ptrdiff_t kKeys = 112;     // Dispatch keys.
  static constexpr std::size_t kMaxDims = 5;

  // From the AutogradMeta.
  static constexpr std::ptrdiff_t kGradientFunction = 48;

  // `probe`: a float64 tensor on the CPU of sizes (2, 3) and strides (7, 2), in memory that
  // something else frees, or where storages have their memory is not known; whether it requires a
  // gradient is changed, and what it holds. `keys`: its dispatch keys as a number. False if it does
  // not lie as said here, whichever PyTorch it is.
  static bool Learn(PyObject* probe, std::uint64_t keys);
  // Null before Learn() gave true.
  static const TensorLayout* Get();
};

}  // namespace stoker::guards
