#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/python/guard_program/checks.h"
#include "client/python/guard_program/python/layout.h"
#include "client/python/guard_program/watch.h"

namespace stoker::guards {

// What is asked about classes.
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
  // (value, name, is it object.__getattribute__ that reads) -> None, or (is there such an
  // attribute, the attribute, dictionaries that decide about it besides its own and its class's).
  Reference reads_of;
  // Names of a torch.nn.Module's dictionaries of hooks, and the dictionary that changes whenever
  // PyTorch adds a hook to any.
  Reference hook_names, hook_registrations;
};

// Which objects are *anchored*: found through dictionaries, classes, functions and cells that a
// Watch sees unchanged. A guard that held for an anchored object which nothing can change holds
// still.
class Anchors {
 public:
  // Adds what can be watched of `values`, for which all guards held, to `watch`. Whoever calls this
  // checks all guards once more, and that the watch sees no change after that: then it saw what the
  // guards saw.
  Anchors(const std::vector<Node>& nodes, const Checks& checks, Values& values, const Roots& roots,
          const Classes& classes, const PythonLayout& layout, Watch& watch);
  Anchors(const Anchors&) = delete;
  Anchors& operator=(const Anchors&) = delete;

  // Null if the node is not anchored. Valid while the watch saw no change and no code of the
  // program ran since.
  PyObject* Find(int node) const { return anchored_[static_cast<std::size_t>(node)]; }

  // A guard that every call must check.
  struct Live {
    std::size_t guard;
    // Values of just this class for which it holds as long as they have no attributes of their own.
    PyTypeObject* bare = nullptr;
  };
  const std::vector<Live>& live() const { return live_; }

 private:
  struct ClassFacts {
    bool usable = false;
    bool plain = false;
    long fallback = 0;                    // __getattr__.
    std::vector<Reference> dictionaries;  // Its own first.
    Reference order;                      // __mro__.
  };
  // An object that has attributes of its own.
  struct Owner {
    PyTypeObject* type;
    PyObject* dictionary;
  };
  enum class Presence { kUnknown, kAbsent, kPresent };
  struct Found {
    Presence presence = Presence::kUnknown;
    PyObject* value = nullptr;  // Borrowed; null where only the presence is known.
  };

  bool Anchor(const Node& node, PyObject* value, const Roots& roots);
  bool AnchorRoot(const Node& node, PyObject* value, const Roots& roots);
  bool AnchorAttribute(const Node& node, PyObject* parent, PyObject* name, PyObject* value);
  bool AnchorItem(const Node& node, PyObject* parent, PyObject* key, PyObject* value);
  bool AnchorName(PyObject* container, PyObject* key, PyObject* value);
  bool AnchorOfClass(PyTypeObject* cls, PyObject* name, PyObject* value);
  bool AnchorInClass(const Node& node, PyObject* value);
  bool AnchorOfFunction(PyObject* function, PyObject* name, PyObject* value);
  bool AnchorKept(PyObject* owner, std::ptrdiff_t offset, PyObject* value);

  const ClassFacts& FactsOf(PyTypeObject* type);
  const ClassFacts* ClassBehind(int place);
  bool Add(PyObject* value);
  void AddContent(PyObject* dictionary);
  const Owner* AddOwner(PyObject* value);
  const Owner* OwnerOf(PyObject* value) const;
  void AddType(PyObject* value);
  void AddTensor(PyObject* tensor, const TensorFacts& facts);
  bool IsContent(PyObject* value, const char* method);

  Found FindIn(PyObject* value, const Owner& owner, PyObject* name, bool generic);
  Found FindComputed(PyObject* value, PyObject* name, bool generic);
  bool IsProven(const Guard& guard);
  PyTypeObject* BareClass(const Guard& guard, PyObject* value);
  bool IsEmptyHooks(const Node& node, PyObject* value) const;

  bool IsDictionary(PyObject* value) const;
  bool IsDefinition(PyObject* value) const;
  bool IsOf(PyObject* value, const Reference& type) const;

  const std::vector<Node>& nodes_;
  const Classes& classes_;
  const PythonLayout& layout_;
  Watch& watch_;
  Reference dynamic_;
  std::unordered_map<PyTypeObject*, ClassFacts> facts_;
  std::unordered_map<PyObject*, Owner> owners_;
  std::unordered_set<PyObject*> contents_;  // Dictionaries.
  std::unordered_set<PyObject*> hooks_;     // Dictionaries that are empty.
  std::unordered_set<PyObject*> typed_;
  std::unordered_set<PyObject*> tensors_;
  std::vector<PyObject*> anchored_;
  std::vector<Live> live_;
};

}  // namespace stoker::guards
