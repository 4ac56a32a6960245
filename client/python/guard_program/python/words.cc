#include "client/python/guard_program/python/words.h"

#include <algorithm>

#include "client/python/guard_program/python/every_call.h"
#include "client/python/guard_program/python/layout.h"

namespace stoker::guards {
namespace {

std::uint64_t AddressOf(const void* object, std::ptrdiff_t offset) {
  return reinterpret_cast<std::uint64_t>(static_cast<const char*>(object) + offset);
}

const char* At(std::uint64_t address) { return reinterpret_cast<const char*>(address); }

}  // namespace

void Words::Add(const void* object, std::ptrdiff_t offset) {
  list_.push_back(AddressOf(object, offset) + kWithValue);
  list_.push_back(WordAt(object, offset));
}

void Words::AddRising(const void* object, std::ptrdiff_t offset) {
  if (WordAt(object, offset) > highest_) return Add(object, offset);
  list_.push_back(AddressOf(object, offset));
}

void Words::Finish() {
  size_ = list_.size();
  if (size_ > 0) list_.insert(list_.end(), kAhead, list_.front());
  list_.shrink_to_fit();
}

void Words::AddAddresses(std::vector<const void*>& addresses) const {
  for (std::size_t i = 0; i < size_; ++i) {
    addresses.push_back(&list_[i]);
    addresses.push_back(At(list_[i]));
    if ((list_[i] & kWithValue) != 0) ++i;
  }
}

STOKER_EVERY_CALL void Words::Prefetch() const {
  for (std::size_t i = 0; i < std::min(kAhead, size_); ++i) __builtin_prefetch(At(list_[i]));
}

STOKER_EVERY_CALL bool Words::Unchanged() const {
  // Values are asked for ahead like addresses: most are addresses too, and no harm is done.
  const std::uint64_t* item = list_.data();
  for (const std::uint64_t* const end = item + size_; item < end; ++item) {
    __builtin_prefetch(At(item[kAhead]));
    const std::uint64_t address = *item;
    if ((address & kWithValue) == 0) {
      if (WordAt(At(address), 0) > highest_) return false;
      continue;
    }
    ++item;
    __builtin_prefetch(At(item[kAhead]));
    if (WordAt(At(address - kWithValue), 0) != *item) return false;
  }
  return true;
}

}  // namespace stoker::guards
