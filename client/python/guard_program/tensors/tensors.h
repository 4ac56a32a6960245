#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "client/python/guard_program/python/layout.h"
#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// The metadata of a tensor as it lies in memory. What equals the metadata of a tensor that a guard
// held for needs no question to PyTorch; what differs may hold all the same.
class Metadata {
 public:
  // Of a tensor; nothing where it does not lie in the tensor alone: more than kMaxDims dims,
  // symbolic sizes.
  static std::optional<Metadata> Of(PyObject* tensor, const TensorLayout& layout);

  // Are these its sizes and strides? Tuples of numbers.
  bool Has(PyObject* sizes, PyObject* strides) const;

  // `implementation`: the address of a tensor's TensorImpl.
  bool Equals(const char* implementation, const TensorLayout& layout) const;
  bool Equals(PyObject* tensor, const TensorLayout& layout) const {
    return Equals(reinterpret_cast<const char*>(ObjectAt(tensor, layout.implementation)), layout);
  }

  bool requires_gradient() const { return requires_gradient_; }

  auto operator<=>(const Metadata&) const = default;

 private:
  using Dims = std::array<std::uint64_t, TensorLayout::kMaxDims>;

  std::uint64_t kind_ = 0, keys_ = 0, dims_ = 0;
  Dims sizes_{}, strides_{};
  bool requires_gradient_ = false;
};

// Tensors that have to be as they were: of the same class, with the same TensorImpl and metadata.
class Tensors {
 public:
  Tensors() = default;
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // As it is now. Its class must be kept. `layout`: the process's.
  void Add(PyObject* tensor, const Metadata& metadata, const TensorLayout& layout);

  // Where they are, and what is kept of them.
  void AddAddresses(std::vector<const void*>& addresses) const;

  void Prefetch() const;  // The first of them.
  // Each must be alive.
  bool Unchanged() const;

 private:
  using Kind = std::pair<PyTypeObject*, Metadata>;
  struct Tensor {
    PyObject* object;
    const char* implementation;
    const char* gradient;  // Only ever prefetched.
    const Kind* kind;
  };
  static constexpr std::size_t kAhead = 10;

  void Prefetch(const Tensor& tensor) const;

  TensorLayout layout_;
  std::set<Kind> kinds_;  // Few: layers are alike.
  std::vector<Tensor> tensors_;
};

}  // namespace stoker::guards
