#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/python/guard_program/python/layout.h"
#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// Where tensors of a list lie in memory, asked of all of them in every call: what moves a tensor
// (`p.data = x`, `resize_`) tells nobody.
class Addresses {
 public:
  // Of the tensors at `places`, numbers in a list, of the list `values`. Nothing where one has no
  // memory of its own, or is no object of `tensor`, PyTorch's class. `layout`: the process's, which
  // knows its memory.
  static std::optional<Addresses> Of(PyObject* values, PyObject* places, PyTypeObject* tensor,
                                     const TensorLayout& layout);

  // Do the tensors at these places of the list lie there? Not where one is missing.
  bool AreOf(PyObject* values) const;

 private:
  struct Address {
    std::uint64_t data = 0;    // Of its storage.
    std::uint64_t offset = 0;  // In elements.

    bool operator==(const Address&) const = default;
  };
  struct Place {
    Py_ssize_t place;
    Address address;
  };
  static constexpr std::size_t kAtOnce = 32;

  Addresses(PyTypeObject* tensor, const TensorLayout& layout) : tensor_(tensor), layout_(layout) {}

  bool AreOf(PyObject* values, const Place* first, std::size_t count) const;

  PyTypeObject* tensor_;  // Lives as long as PyTorch.
  TensorLayout layout_;
  std::vector<Place> places_;
};

}  // namespace stoker::guards
