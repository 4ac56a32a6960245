#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "client/python/guard_program/paths.h"
#include "client/python/guard_program/python/dictionaries.h"
#include "client/python/guard_program/python/words.h"
#include "client/python/guard_program/tensors/tensors.h"

namespace stoker::guards {

// What stands for most of a program's guards in later calls: while names, words and tensors are as
// they were, so is everything that was found through them. Looking runs no code of the program but,
// for a root, a look-up by a text.
//
// It owns no object that could hold a program's memory: each address it looks at is kept alive by
// something it has found unchanged just before.
class Watch {
 public:
  Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // A local variable.
  void AddLocal(PyObject* name, PyObject* value);
  // In a dictionary that others change at any time, as a module's: looked up again when they did.
  // The value must be kept, or be another when a word that is added later is.
  void AddName(PyObject* dictionary, PyObject* name, PyObject* value);
  void AddWord(const void* object, std::ptrdiff_t offset) { words_.Add(object, offset); }
  // All of a dictionary.
  void AddContent(PyObject* dictionary);
  // A dictionary of hooks, empty as far as `registrations` numbers every hook that is added.
  void AddHooks(PyObject* hooks) { hooks_.AddRising(NumberOf(hooks), 0); }
  void SetRegistrations(PyObject* registrations);
  // Its class must be kept.
  void AddTensor(PyObject* tensor, const Metadata& metadata, const TensorLayout& layout);
  void Keep(PyObject* object) { kept_.push_back(Reference::Share(object)); }
  // After everything was added.
  void Finish();

  // Of what is looked at in every call.
  std::vector<const void*> Addresses() const;

  void Prefetch() const;  // What is looked at first.
  bool Unchanged(const Roots& roots) const;

 private:
  struct Names {
    Reference dictionary;
    std::vector<std::pair<Reference, PyObject*>> found;
  };

  const void* NumberOf(PyObject* dictionary);
  bool HasNames(std::size_t place) const;
  bool HooksUnchanged() const;

  std::vector<Reference> kept_;
  std::vector<std::pair<Reference, PyObject*>> locals_;
  std::vector<Names> names_;
  std::vector<DictionaryNumber> dictionaries_;
  // Where the dictionaries have their numbers, and those of when all names were last found.
  mutable std::vector<std::pair<const void*, std::uint64_t>> numbers_;
  Words words_;
  const void* registrations_ = nullptr;   // The number of that dictionary.
  mutable std::uint64_t registered_ = 0;  // What it was when all hooks were last looked at.
  Words hooks_;
  Tensors tensors_;
};

}  // namespace stoker::guards
