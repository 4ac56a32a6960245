#include "client/python/guard_program/watch.h"

#include <algorithm>
#include <iterator>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {

// Whatever changes later gets a greater number.
Watch::Watch() : words_(DictionaryNumber::Highest()), hooks_(DictionaryNumber::Highest()) {}

const void* Watch::NumberOf(PyObject* dictionary) {
  return dictionaries_.emplace_back(dictionary).address();
}

void Watch::AddLocal(PyObject* name, PyObject* value) {
  locals_.emplace_back(Reference::Share(name), value);
}

void Watch::AddName(PyObject* dictionary, PyObject* name, PyObject* value) {
  auto names = std::ranges::find_if(
      names_, [&](const Names& known) { return known.dictionary.get() == dictionary; });
  if (names == names_.end()) {
    names_.push_back({Reference::Share(dictionary), {}});
    names = std::prev(names_.end());
    numbers_.emplace_back(NumberOf(dictionary), 0);  // No dictionary has the number 0.
  }
  names->found.emplace_back(Reference::Share(name), value);
}

void Watch::AddContent(PyObject* dictionary) { words_.AddRising(NumberOf(dictionary), 0); }

void Watch::SetRegistrations(PyObject* registrations) {
  Keep(registrations);
  registrations_ = NumberOf(registrations);
}

void Watch::Finish() {
  words_.Finish();
  hooks_.Finish();
}

void Watch::AddTensor(PyObject* tensor, const Metadata& metadata, const TensorLayout& layout) {
  tensors_.Add(tensor, metadata, layout);
}

std::vector<const void*> Watch::Addresses() const {
  std::vector<const void*> addresses;
  words_.AddAddresses(addresses);
  tensors_.AddAddresses(addresses);
  return addresses;
}

STOKER_EVERY_CALL void Watch::Prefetch() const {
  for (const auto& [address, number] : numbers_) __builtin_prefetch(address);
  if (registrations_ != nullptr) __builtin_prefetch(registrations_);
  words_.Prefetch();
}

STOKER_EVERY_CALL bool Watch::Unchanged(const Roots& roots) const {
  for (const auto& [name, value] : locals_) {
    if (FindItem(roots.local_values, name.get()) != value) return false;
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (WordAt(numbers_[i].first, 0) != numbers_[i].second && !HasNames(i)) return false;
  }
  tensors_.Prefetch();
  return words_.Unchanged() && tensors_.Unchanged() && HooksUnchanged();
}

STOKER_EVERY_CALL bool Watch::HooksUnchanged() const {
  if (registrations_ == nullptr) return true;
  const std::uint64_t number = WordAt(registrations_, 0);
  if (number == registered_) return true;
  hooks_.Prefetch();
  if (!hooks_.Unchanged()) return false;
  registered_ = number;
  return true;
}

bool Watch::HasNames(std::size_t place) const {
  PyObject* dictionary = names_[place].dictionary.get();
  const std::uint64_t number = WordAt(numbers_[place].first, 0);
  for (const auto& [name, value] : names_[place].found) {
    if (FindItem(dictionary, name.get()) != value) return false;
  }
  numbers_[place].second = number;
  return true;
}

}  // namespace stoker::guards
