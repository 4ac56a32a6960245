#pragma once

#include <memory>
#include <vector>

#include "client/python/guard_program/checks.h"
#include "client/python/guard_program/live_guards.h"
#include "client/python/guard_program/paths.h"
#include "client/python/guard_program/watch.h"

namespace stoker::guards {

// The guards of one capture. With the GIL held; code of the program that checks run may call it
// again.
class Program {
 public:
  struct Parts {
    PyObject* nodes;     // As in a capture.
    PyObject* guards;    // As in a capture.
    PyObject* distinct;  // List of nodes, no two of which may be one object.
    PyObject* decode;    // A function of an encoded value.
    PyObject* steps;     // Names of steps -> functions.
    PyObject* dtypes;    // Names -> torch.dtype.
    PyObject* builtins;
    Reference global_values, modules;
    // list of tensors -> f(tensor...), true while each has the type, the metadata, and is another
    // object than each of the others; TensorGuards.
    Reference bind_tensors;
    Callables callables;
    Classes classes;
    bool may_watch;
  };
  static constexpr std::int64_t kAllHold = -1;

  explicit Program(Parts parts);

  // kAllHold, the number of the first guard that does not hold, or the number of guards if two
  // distinct nodes are one object.
  std::int64_t FirstFailure(PyObject* local_values);

  // The same question in later calls. The first that is answered with yes binds the tensors and
  // begins to watch.
  bool Holds(PyObject* local_values);

  std::int64_t asked() const { return checks_.asked(); }
  bool is_watching() const { return later_ != nullptr; }
  // The guards that a call checks while the watch sees no change.
  std::vector<std::size_t> live() const;

  int Visit(visitproc visit, void* context) const;

 private:
  // Nodes of which no two may be one object.
  struct Places {
    std::vector<int> tensors;  // Seen by a check of tensors, which comes before.
    std::vector<int> others;
  };
  // That these hold tensors as they held, each another object.
  struct Bound {
    std::vector<int> places;
    Reference check;
  };
  // What calls check while nothing changes.
  struct Later {
    Later(const std::vector<Node>& nodes, const Checks& checks, Values& values, const Roots& roots,
          const Classes& classes, const std::vector<bool>& is_tensor, const Places& places,
          const std::vector<Bound>& bound)
        : watch(nodes, checks, values, roots, classes, is_tensor),
          live(nodes, checks, watch, is_tensor),
          distinct{live.PlacesOf(places.tensors), live.PlacesOf(places.others)} {
      for (const Bound& together : bound) tensors.push_back(live.PlacesOf(together.places));
    }

    Watch watch;
    LiveGuards live;
    Places distinct;
    std::vector<std::vector<int>> tensors;  // Of each Bound.
  };

  Roots RootsOf(PyObject* local_values) const;
  static bool AreDistinct(Values& values, const Places& places);
  bool HoldsAll(Values& values);
  bool HoldsLater(const Later& later, const Roots& roots);
  static bool TensorsHold(const Reference& check, Values& values, const std::vector<int>& places);
  void BindTensors(Values& values);
  bool BindTogether(Values& values, std::vector<int> places);
  void PrefetchTensors() const;
  void StartWatch(Values& values, const Roots& roots);

  std::vector<Node> nodes_;
  Checks checks_;
  Reference global_values_, modules_, bind_tensors_;
  Classes classes_;
  bool may_watch_;
  std::vector<std::size_t> order_;  // Guards on arguments first: those differ most often.
  // After BindTensors().
  Places places_;
  std::vector<bool> is_tensor_;
  std::vector<Bound> bound_;
  std::vector<const char*> tensor_memory_;  // Where tensors lay: only ever prefetched.
  // Shared with calls that are under way while another replaces it.
  std::shared_ptr<const Later> later_;
};

}  // namespace stoker::guards
