#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/python/guard_program/python/layout.h"
#include "client/python/guard_program/python/python_reference.h"
#include "client/python/guard_program/tensors/tensors.h"

namespace stoker::guards {

// Where kernels read and write the tensors of a list, asked of all of them in every call. One whose
// metadata is that of a tensor that was looked at, and whose memory is there, needs no question to
// PyTorch.
class Pointers {
 public:
  // `tensor`: PyTorch's class. `layout`: the process's, which knows memory and its bytes.
  Pointers(PyTypeObject* tensor, const TensorLayout& layout) : tensor_(tensor), layout_(layout) {}

  // Number 0, 1, ...: the one of the list whose address goes to `place`. It has elements up to
  // `span`. `is_written`: a look is needed where its storage may be another one's, too, until it is
  // written.
  void Add(Py_ssize_t place, std::int64_t span, bool is_written);

  // `tensor` was looked at: what has the same metadata is read where it lies, or that of the first
  // one that was: some bits of it are of no meaning, and seldom others. `element`: bytes.
  void Know(Py_ssize_t number, PyObject* tensor, std::int64_t element);

  // Writes addresses to `places`; of what needs a look the numbers are given.
  std::vector<std::size_t> Put(PyObject* values, std::uint64_t* places) const;

 private:
  struct Pointer {
    Py_ssize_t place = 0;
    std::int64_t span = 0;
    bool is_written = false;
    std::int64_t element = 0;
    std::optional<Metadata> first, last;
  };
  static constexpr std::size_t kAtOnce = 32;

  // Nothing where it needs a look.
  std::optional<std::uint64_t> AddressOf(const Pointer& pointer, const char* implementation) const;
  void Put(PyObject* values, std::size_t first, std::size_t count, std::uint64_t* places,
           std::vector<std::size_t>& unknown) const;

  PyTypeObject* tensor_;  // Lives as long as PyTorch.
  TensorLayout layout_;
  std::vector<Pointer> pointers_;
};

}  // namespace stoker::guards
