#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "client/python/guard_program/anchors.h"
#include "client/python/guard_program/checks.h"

namespace stoker::guards {

// What every call checks while a Watch sees no change. Its own nodes are few: a path begins at the
// last anchored object on it, paths that begin at one object and go on alike are one, and what is
// asked of one node twice is asked once: the layers of a model share their configuration.
class LiveGuards {
 public:
  struct Question {
    std::size_t guard;             // Number of a guard that asks it.
    int place;                     // Of the guard's values among nodes().
    int other = kNoNode;           // Where the guard has one.
    PyTypeObject* bare = nullptr;  // See Anchors::Live.
  };

  LiveGuards(const std::vector<Node>& program_nodes, const Checks& checks, const Anchors& anchors);

  // The places of nodes of the program, which become nodes here.
  std::vector<int> PlacesOf(const std::vector<int>& program_places);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Question>& questions() const { return questions_; }

  void Prefetch(const Checks& checks) const;

  // Gives `values` what the nodes begin at, kept alive. Only after the watch has seen no change.
  void Start(Values& values) const;

 private:
  int PlaceOf(int program_place);
  int AddStart(PyObject* value);

  const std::vector<Node>& program_nodes_;
  const Anchors& anchors_;
  std::vector<Node> nodes_;
  std::vector<Question> questions_;
  std::vector<std::pair<int, PyObject*>> starts_;  // Borrowed: the watch answers for them.

  using Path = std::tuple<Step, int, int, PyObject*, PyObject*>;
  std::vector<int> places_;  // Of each node of the program; kNoNode: not yet.
  std::unordered_map<PyObject*, int> known_starts_;
  std::map<Path, int> known_paths_;
};

}  // namespace stoker::guards
