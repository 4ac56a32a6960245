#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/python/guard_program/python/layout.h"
#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// Where tensors of a list lie in memory, asked of all of them in every call: what moves a tensor
// (`p.data = x`, `resize_`) tells nobody. And which versions they are, where that is wanted.
class Addresses {
 public:
  // Of the tensors at `places`, numbers in a list, of the list `values`. Nothing where one has no
  // memory of its own, or is no object of `tensor`, PyTorch's class, or has no version that is
  // wanted. `layout`: the process's, which knows memory and, where wanted, versions.
  static std::optional<Addresses> Of(PyObject* values, PyObject* places, PyTypeObject* tensor,
                                     bool with_versions, const TensorLayout& layout);

  // Do the tensors at these places of the list lie there, and are they those versions? Not where
  // one is missing.
  bool AreOf(PyObject* values) const;

 private:
  struct Address {
    std::uint64_t data = 0;    // Of its storage.
    std::uint64_t offset = 0;  // In elements.
    std::uint32_t version = 0;

    bool operator==(const Address&) const = default;
  };
  struct Place {
    Py_ssize_t place;
    Address address;
  };
  static constexpr std::size_t kAtOnce = 32;

  Addresses(PyTypeObject* tensor, bool with_versions, const TensorLayout& layout)
      : tensor_(tensor), with_versions_(with_versions), layout_(layout) {}

  // Nothing where there is none.
  std::optional<Address> AddressOf(const char* implementation) const;
  bool AreOf(PyObject* values, const Place* first, std::size_t count) const;

  PyTypeObject* tensor_;  // Lives as long as PyTorch.
  bool with_versions_;
  TensorLayout layout_;
  std::vector<Place> places_;
};

}  // namespace stoker::guards
