#include "client/python/guard_program/tensors/tensors.h"

#include <algorithm>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {
namespace {

constexpr std::ptrdiff_t kLine = 64;  // Bytes of a cache line.

STOKER_EVERY_CALL bool RequiresGradient(const char* implementation, const TensorLayout& layout) {
  const auto* gradient =
      reinterpret_cast<const char*>(ObjectAt(implementation, TensorLayout::kGradient));
  return gradient != nullptr && (gradient[layout.requires_gradient] != 0 ||
                                 WordAt(gradient, TensorLayout::kGradientFunction) != 0);
}

bool AreNumbers(const std::uint64_t* numbers, std::uint64_t count, PyObject* tuple) {
  if (static_cast<std::uint64_t>(PyTuple_Size(tuple)) != count) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const long long number = PyLong_AsLongLong(PyTuple_GetItem(tuple, static_cast<Py_ssize_t>(i)));
    if (number == -1 && PyErr_Occurred()) {
      SwallowException();
      return false;
    }
    if (static_cast<std::uint64_t>(number) != numbers[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<Metadata> Metadata::Of(PyObject* tensor, const TensorLayout& layout) {
  const auto* memory = reinterpret_cast<const char*>(ObjectAt(tensor, layout.implementation));
  if (memory == nullptr || WordAt(memory, TensorLayout::kExtra) != 0) return std::nullopt;
  Metadata found;
  const char* metadata = memory + layout.dims;
  found.dims_ = WordAt(metadata, 0);
  if (found.dims_ > TensorLayout::kMaxDims) return std::nullopt;
  found.kind_ = WordAt(metadata, TensorLayout::kKind);
  found.keys_ = WordAt(metadata, TensorLayout::kKeys);
  for (std::size_t i = 0; i < found.dims_; ++i) {
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(i) * kWord;
    found.sizes_[i] = WordAt(metadata, TensorLayout::kSizes + offset);
    found.strides_[i] = WordAt(metadata, TensorLayout::kStrides + offset);
  }
  found.requires_gradient_ = RequiresGradient(memory, layout);
  return found;
}

bool Metadata::Has(PyObject* sizes, PyObject* strides) const {
  return AreNumbers(sizes_.data(), dims_, sizes) && AreNumbers(strides_.data(), dims_, strides);
}

STOKER_EVERY_CALL bool Metadata::Equals(const char* implementation,
                                        const TensorLayout& layout) const {
  const char* metadata = implementation + layout.dims;
  if (WordAt(implementation, TensorLayout::kExtra) != 0 || WordAt(metadata, 0) != dims_ ||
      WordAt(metadata, TensorLayout::kKind) != kind_ ||
      WordAt(metadata, TensorLayout::kKeys) != keys_) {
    return false;
  }
  for (std::size_t i = 0; i < dims_; ++i) {
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(i) * kWord;
    if (WordAt(metadata, TensorLayout::kSizes + offset) != sizes_[i] ||
        WordAt(metadata, TensorLayout::kStrides + offset) != strides_[i]) {
      return false;
    }
  }
  return RequiresGradient(implementation, layout) == requires_gradient_;
}

void Tensors::Add(PyObject* tensor, const Metadata& metadata, const TensorLayout& layout) {
  layout_ = layout;
  const auto* memory = reinterpret_cast<const char*>(ObjectAt(tensor, layout.implementation));
  const auto* gradient = reinterpret_cast<const char*>(ObjectAt(memory, TensorLayout::kGradient));
  tensors_.push_back({tensor, memory, gradient == nullptr ? memory : gradient,
                      &*kinds_.emplace(Py_TYPE(tensor), metadata).first});
}

void Tensors::AddAddresses(std::vector<const void*>& addresses) const {
  for (const Tensor& tensor : tensors_) {
    for (const void* address : std::initializer_list<const void*>{
             &tensor, tensor.object, tensor.implementation, tensor.gradient, tensor.kind}) {
      addresses.push_back(address);
    }
  }
}

STOKER_EVERY_CALL void Tensors::Prefetch(const Tensor& tensor) const {
  __builtin_prefetch(reinterpret_cast<const char*>(tensor.object) + kTypeOffset);
  const std::ptrdiff_t keys = layout_.dims + TensorLayout::kKeys;
  for (std::ptrdiff_t at = TensorLayout::kGradient; at < keys; at += kLine) {
    __builtin_prefetch(tensor.implementation + at);
  }
  __builtin_prefetch(tensor.implementation + keys);
  __builtin_prefetch(tensor.gradient + layout_.requires_gradient);
  if (!tensor.kind->second.requires_gradient()) {
    __builtin_prefetch(tensor.gradient + TensorLayout::kGradientFunction);
  }
}

STOKER_EVERY_CALL void Tensors::Prefetch() const {
  for (std::size_t i = 0; i < std::min(kAhead, tensors_.size()); ++i) Prefetch(tensors_[i]);
}

STOKER_EVERY_CALL bool Tensors::Unchanged() const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (i + kAhead < tensors_.size()) Prefetch(tensors_[i + kAhead]);
    const auto& [object, implementation, gradient, kind] = tensors_[i];
    if (Py_TYPE(object) != kind->first ||
        reinterpret_cast<const char*>(ObjectAt(object, layout_.implementation)) != implementation ||
        !kind->second.Equals(implementation, layout_)) {
      return false;
    }
  }
  return true;
}

}  // namespace stoker::guards
