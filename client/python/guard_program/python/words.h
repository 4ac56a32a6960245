#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker::guards {

// Words of the process's memory that have to be as they were. Each one's address must be good while
// those before it are unchanged: they are looked at in this order, and no further than to the first
// that changed.
//
// Between two calls the program's own work has taken the caches, and nearly each word lies in
// another line: what a check costs is how many lines it asks for, and that as many are on their way
// as the processor can wait for. The list itself is kept short for the same reason.
class Words {
 public:
  // `highest`: no rising word is greater before this is made.
  explicit Words(std::uint64_t highest) : highest_(highest) {}

  // The word at `offset` from `object`, as it is now.
  void Add(const void* object, std::ptrdiff_t offset);
  // The same of one that becomes greater than all such words ever were with every change: they need
  // no value each in the list.
  void AddRising(const void* object, std::ptrdiff_t offset);
  // After everything was added.
  void Finish();

  // Where they are, and this list is.
  void AddAddresses(std::vector<const void*>& addresses) const;

  void Prefetch() const;  // The first of them.
  bool Unchanged() const;

 private:
  static constexpr std::size_t kAhead = 48;
  // Added to an address whose word is the next one of the list, and not a rising one.
  static constexpr std::uint64_t kWithValue = 1;

  std::vector<std::uint64_t> list_;  // kAhead more at the end, so that looking ahead needs no test.
  std::size_t size_ = 0;
  std::uint64_t highest_;
};

}  // namespace stoker::guards
