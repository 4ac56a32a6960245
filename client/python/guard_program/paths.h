#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <vector>

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

enum class Step {
  kLocal,
  kRoot,
  kModule,
  kGlobal,
  kAttribute,
  kGeneric,
  kItem,
  kDict,
  kType,
  kTypeDictionary,
  kKey,
  kDefault,
  kCall,
};

constexpr int kNoNode = -1;
constexpr int kMaxDepth = 512;  // Of a path, the paths of its arguments included.

// One access path: how its value is reached from its parent's.
struct Node {
  Step step = Step::kRoot;
  int parent = kNoNode;
  int argument_node = kNoNode;  // The argument is this node's value.
  int depth = 0;
  Reference argument;  // Otherwise: a name, a key; the value itself for kRoot.
  Reference call;      // Further steps: f(parent's value, argument).
};

// What roots are looked up in. Borrowed.
struct Roots {
  PyObject* local_values = nullptr;
  PyObject* global_values = nullptr;
  PyObject* modules = nullptr;
};

// The values of nodes in one check, each evaluated when it is first asked for. Owns what it
// evaluated or was given.
class Values {
 public:
  Values(const std::vector<Node>& nodes, const Roots& roots);
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  // Borrowed; null if the node has no value: a step raised. Throws PythonError for what is no
  // Exception.
  PyObject* Get(int node);
  void Give(int node, Reference value);

 private:
  Reference Evaluate(const Node& node);

  struct Slot {
    PyObject* value = nullptr;
    bool known = false;
  };

  const std::vector<Node>& nodes_;
  Roots roots_;
  // Later calls evaluate few, and allocate nothing.
  std::array<std::byte, 1024> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<Slot> slots_;
  std::pmr::vector<Reference> owned_;
};

// The nodes of a capture's record, [[parent, step, argument]]. `decode` turns an encoded argument
// into its value, `steps` maps the names of further steps to functions, `builtins` is the value of
// that root. Throws PythonError where the record is malformed.
std::vector<Node> ReadNodes(PyObject* record, PyObject* decode, PyObject* steps,
                            PyObject* builtins);

}  // namespace stoker::guards
