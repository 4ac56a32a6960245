#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "client/python/guard_program/checks.h"

namespace stoker::guards {

// What a Watch asks about classes.
struct Classes {
  Reference ordered_dict;
  Reference tensor;
  Reference parameter;
  Reference
      module;  // torch.nn.Module: an argument of this class is expected again in the next call.
  Reference constants;  // See IsImmutable().
  // type -> None, or (dictionaries of its bases and its own, its __mro__, 0: reading attributes is
  // object's | 1: it overrides __getattribute__, 0: no __getattr__ | 1: torch.nn.Module's | 2:
  // another).
  Reference describe;
};

// Why a second look at most of what a check saw is not needed: CPython gives a dictionary a number
// that no other has, and another one with every change. A Watch holds the numbers of the
// dictionaries between the roots and the guarded objects. While they are the same, so are all
// objects in them: these are *anchored*, and a guard that held for an anchored object which nothing
// can change holds still.
//
// It owns no object of the program: each address it looks at is kept alive by a dictionary that it
// has found unchanged just before.
class Watch {
 public:
  // Does this interpreter number its dictionaries, in the place where we look for it? True for
  // CPython 3.11 and 3.12.
  static bool IsSupported();

  // What can be watched of `values`, for which all guards held. `checked_elsewhere`: places whose
  // tensor and type guards something else checks in every call. Whoever calls this checks all
  // guards once more, and that Unchanged() is true after that: then the watch saw what the guards
  // saw.
  Watch(const std::vector<Node>& nodes, const Checks& checks, Values& values, const Roots& roots,
        const Classes& classes, const std::vector<bool>& checked_elsewhere);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Runs no code of the program but, for a root, a look-up by a text.
  bool Unchanged(const Roots& roots) const;

  // Null if the node is not anchored. Valid while Unchanged() was true and no code of the program
  // ran since.
  PyObject* Anchored(int node) const { return anchored_[static_cast<std::size_t>(node)]; }

  // Guards that every call must check.
  const std::vector<std::size_t>& live() const { return live_; }

 private:
  struct ClassFacts {
    bool usable = false;
    bool plain = false;
    long fallback = 0;                    // __getattr__.
    std::vector<Reference> dictionaries;  // Its own first.
    Reference order;                      // __mro__.
  };
  // A dictionary, or an object with one.
  struct Entry {
    PyObject* object;
    PyTypeObject* type;
    std::ptrdiff_t slot;  // From the object to the address of its dictionary.
    PyObject* dictionary;
    std::uint64_t number;
  };
  struct Lookup {
    Reference container, key, value;
  };
  // Of one dictionary, which others change at any time.
  struct Names {
    Reference dictionary;
    mutable std::uint64_t number;  // When all of them were last found.
    std::vector<std::pair<Reference, Reference>> found;
  };
  enum class Presence { kUnknown, kAbsent, kPresent };
  struct Found {
    Presence presence = Presence::kUnknown;
    PyObject* value = nullptr;  // Borrowed; null where only the presence is known.
  };

  const ClassFacts& FactsOf(PyTypeObject* type);
  const Entry* Add(PyObject* value);
  void AddDictionary(PyObject* dictionary);
  bool IsDictionary(PyObject* value) const;
  bool Anchor(const Node& node, PyObject* value, const Roots& roots);
  bool AnchorIn(PyObject* container, PyObject* key, PyObject* value);
  bool AnchorOfClass(PyTypeObject* cls, PyObject* name, PyObject* value);
  bool AnchorInClass(const Node& node, PyObject* value);
  const ClassFacts* ClassBehind(int place);
  Found FindIn(const Entry& entry, PyObject* name, bool generic);
  bool IsProven(const Guard& guard, bool checked_elsewhere);
  bool IsDefinition(PyObject* value) const;
  bool IsModule(PyObject* value) const;
  bool IsTensor(PyObject* value) const;

  const std::vector<Node>& nodes_;
  Classes classes_;
  std::unordered_map<PyTypeObject*, ClassFacts> facts_;
  std::vector<Lookup> types_;  // Class, "__mro__", tuple.
  std::vector<std::pair<Reference, PyObject*>> locals_;
  std::vector<Names> names_;
  std::vector<PyObject*> modules_;  // Found by name. Their class can be set.
  std::vector<Entry> entries_;      // Each after those that keep it alive.
  std::unordered_map<PyObject*, std::size_t> known_;
  std::vector<PyObject*> anchored_;
  std::vector<std::size_t> live_;
};

}  // namespace stoker::guards
