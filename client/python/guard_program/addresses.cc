#include "client/python/guard_program/addresses.h"

#include <algorithm>
#include <array>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {

std::optional<Addresses> Addresses::Of(PyObject* values, PyObject* places, PyTypeObject* tensor,
                                       const TensorLayout& layout) {
  Addresses found(tensor, layout);
  for (Py_ssize_t i = 0; i < PyList_Size(places); ++i) {
    const Py_ssize_t place = PyLong_AsSsize_t(PyList_GetItem(places, i));
    PyObject* value = place < 0 ? nullptr : PyList_GetItem(values, place);
    if (PyErr_Occurred()) throw PythonError();
    if (value == nullptr || PyObject_TypeCheck(value, tensor) == 0) return std::nullopt;
    const char* implementation = At(value, layout.implementation);
    const char* storage = At(implementation, TensorLayout::kStorage);
    if (storage == nullptr) return std::nullopt;
    found.places_.push_back({place,
                             {WordAt(storage, layout.storage_data),
                              WordAt(implementation, layout.dims + TensorLayout::kOffset)}});
  }
  return found;
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
  std::array<const char*, kAtOnce> implementations{}, storages{};
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
    storages[i] = At(implementations[i], TensorLayout::kStorage);
    if (storages[i] == nullptr) return false;
    __builtin_prefetch(storages[i] + layout_.storage_data);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Address now{WordAt(storages[i], layout_.storage_data),
                      WordAt(implementations[i], offset)};
    if (now != first[i].address) return false;
  }
  return true;
}

}  // namespace stoker::guards
