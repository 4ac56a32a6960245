#pragma once

#include <cstddef>
#include <cstdint>

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// The number of a dictionary's state: with every change it becomes greater than that of any
// dictionary was. CPython 3.11 and 3.12 keep it in the dictionary. Later versions keep none, and
// say before a dictionary changes that it will: then it is kept here. With the GIL held.
class DictionaryNumber {
 public:
  // Are there such numbers in this version of CPython?
  static bool AreKnown();
  // No dictionary has a greater one. Only if they are known, as everything below.
  static std::uint64_t Highest();

  // Never 0. Throws PythonError.
  explicit DictionaryNumber(PyObject* dictionary);
  DictionaryNumber(DictionaryNumber&& other) noexcept;
  DictionaryNumber& operator=(DictionaryNumber&&) = delete;
  ~DictionaryNumber();

  // Where it stands: as long as the dictionary lives and this does.
  const void* address() const { return address_; }

 private:
  const void* address_ = nullptr;
  std::size_t place_ = kInside;

  static constexpr std::size_t kInside = static_cast<std::size_t>(-1);
};

}  // namespace stoker::guards
