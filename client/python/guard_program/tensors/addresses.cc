#include "client/python/guard_program/tensors/addresses.h"

#include <algorithm>
#include <array>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {

std::optional<Addresses> Addresses::Of(PyObject* values, PyObject* places, PyTypeObject* tensor,
                                       bool with_versions, const TensorLayout& layout) {
  Addresses found(tensor, with_versions, layout);
  for (Py_ssize_t i = 0; i < PyList_Size(places); ++i) {
    const Py_ssize_t place = PyLong_AsSsize_t(PyList_GetItem(places, i));
    PyObject* value = place < 0 ? nullptr : PyList_GetItem(values, place);
    if (PyErr_Occurred()) throw PythonError();
    if (value == nullptr || PyObject_TypeCheck(value, tensor) == 0) return std::nullopt;
    const auto address = found.AddressOf(At(value, layout.implementation));
    if (!address) return std::nullopt;
    found.places_.push_back({place, *address});
  }
  return found;
}

std::optional<Addresses::Address> Addresses::AddressOf(const char* implementation) const {
  Address address;
  const char* storage = At(implementation, TensorLayout::kStorage);
  if (storage == nullptr) return std::nullopt;
  address.data = WordAt(storage, layout_.storage_data);
  address.offset = WordAt(implementation, layout_.dims + TensorLayout::kOffset);
  if (!with_versions_) return address;
  const char* versions = At(implementation, TensorLayout::kVersions);
  if (versions == nullptr) return std::nullopt;
  address.version = HalfWordAt(versions, layout_.version);
  return address;
}

bool Addresses::AreOf(PyObject* values) const {
  for (std::size_t first = 0; first < places_.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, places_.size() - first);
    if (!AreOf(values, places_.data() + first, count)) return false;
  }
  return true;
}

// Each step of the way to the memory is asked for of all before the first one is waited for.
bool Addresses::AreOf(PyObject* values, const Place* first, std::size_t count) const {
  std::array<PyObject*, kAtOnce> objects{};
  std::array<const char*, kAtOnce> implementations{};
  const Py_ssize_t size = PyList_Size(values);
  for (std::size_t i = 0; i < count; ++i) {
    if (first[i].place >= size) return false;
    objects[i] = PyList_GetItem(values, first[i].place);
    __builtin_prefetch(reinterpret_cast<const char*>(objects[i]) + kTypeOffset);
  }
  const std::ptrdiff_t offset = layout_.dims + TensorLayout::kOffset;
  for (std::size_t i = 0; i < count; ++i) {
    if (PyObject_TypeCheck(objects[i], tensor_) == 0) return false;
    implementations[i] = At(objects[i], layout_.implementation);
    __builtin_prefetch(implementations[i] + TensorLayout::kStorage);
    __builtin_prefetch(implementations[i] + offset);
  }
  for (std::size_t i = 0; i < count; ++i) {
    __builtin_prefetch(At(implementations[i], TensorLayout::kStorage) + layout_.storage_data);
    if (!with_versions_) continue;
    __builtin_prefetch(At(implementations[i], TensorLayout::kVersions) + layout_.version);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (AddressOf(implementations[i]) != first[i].address) return false;
  }
  return true;
}

}  // namespace stoker::guards
