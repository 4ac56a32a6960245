#include "client/python/guard_program/tensors/pointers.h"

#include <algorithm>
#include <array>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {

void Pointers::Add(Py_ssize_t place, std::int64_t span, bool is_written) {
  pointers_.push_back({place, span, is_written, 0, std::nullopt, std::nullopt});
}

void Pointers::Know(Py_ssize_t number, PyObject* tensor, std::int64_t element) {
  if (PyObject_TypeCheck(tensor, tensor_) == 0) return;
  Pointer& pointer = pointers_.at(static_cast<std::size_t>(number));
  (pointer.first ? pointer.last : pointer.first) = Metadata::Of(tensor, layout_);
  pointer.element = element;
}

STOKER_EVERY_CALL std::optional<std::uint64_t> Pointers::AddressOf(
    const Pointer& pointer, const char* implementation) const {
  const auto is_as = [&](const std::optional<Metadata>& known) {
    return known && known->Equals(implementation, layout_);
  };
  if (!is_as(pointer.first) && !is_as(pointer.last)) return std::nullopt;
  const char* storage = At(implementation, TensorLayout::kStorage);
  if (storage == nullptr) return std::nullopt;
  if (pointer.span == 0) return 0;
  const std::uint64_t data = WordAt(storage, layout_.storage_data);
  const auto held = static_cast<std::int64_t>(WordAt(storage, layout_.storage_bytes));
  const auto offset =
      static_cast<std::int64_t>(WordAt(implementation, layout_.dims + TensorLayout::kOffset));
  if (data == 0 || held < (offset + pointer.span) * pointer.element) return std::nullopt;
  // Memory that storages share until one of them is written is freed by something else.
  if (pointer.is_written && WordAt(storage, layout_.storage_owner) != data) return std::nullopt;
  return data + static_cast<std::uint64_t>(offset * pointer.element);
}

STOKER_EVERY_CALL std::vector<std::size_t> Pointers::Put(PyObject* values,
                                                         std::uint64_t* places) const {
  std::vector<std::size_t> unknown;
  for (std::size_t first = 0; first < pointers_.size(); first += kAtOnce) {
    Put(values, first, std::min(kAtOnce, pointers_.size() - first), places, unknown);
  }
  return unknown;
}

// Each step of the way to the memory is asked for of all before the first one is waited for.
STOKER_EVERY_CALL void Pointers::Put(PyObject* values, std::size_t first, std::size_t count,
                                     std::uint64_t* places,
                                     std::vector<std::size_t>& unknown) const {
  std::array<PyObject*, kAtOnce> objects{};
  std::array<const char*, kAtOnce> implementations{};
  const auto size = static_cast<std::size_t>(PyList_Size(values));
  for (std::size_t i = 0; i < count && first + i < size; ++i) {
    objects[i] = PyList_GetItem(values, static_cast<Py_ssize_t>(first + i));
    __builtin_prefetch(reinterpret_cast<const char*>(objects[i]) + kTypeOffset);
  }
  const std::ptrdiff_t keys = layout_.dims + TensorLayout::kKeys;
  for (std::size_t i = 0; i < count; ++i) {
    if (objects[i] == nullptr || PyObject_TypeCheck(objects[i], tensor_) == 0) continue;
    implementations[i] = At(objects[i], layout_.implementation);
    __builtin_prefetch(implementations[i] + TensorLayout::kStorage);
    __builtin_prefetch(implementations[i] + layout_.dims);
    __builtin_prefetch(implementations[i] + keys);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (implementations[i] == nullptr) continue;
    __builtin_prefetch(At(implementations[i], TensorLayout::kStorage) + layout_.storage_data);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Pointer& pointer = pointers_[first + i];
    const auto address =
        implementations[i] == nullptr ? std::nullopt : AddressOf(pointer, implementations[i]);
    if (address) {
      places[pointer.place] = *address;
    } else {
      unknown.push_back(first + i);
    }
  }
}

}  // namespace stoker::guards
