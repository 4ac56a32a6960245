#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "client/python/guard_program/anchors.h"
#include "client/python/guard_program/checks.h"
#include "client/python/guard_program/live_guards.h"
#include "client/python/guard_program/paths.h"
#include "client/python/guard_program/torch_state.h"
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
    Callables callables;
    Classes classes;
    bool may_watch;
  };
  static constexpr std::int64_t kAllHold = -1;

  explicit Program(Parts parts);

  // kAllHold, the number of the first guard that does not hold, or the number of guards if two
  // distinct nodes are one object.
  std::int64_t FirstFailure(PyObject* local_values);

  // From now on PyTorch's state has to be as it is now. False if that cannot be seen from here.
  bool BindState(std::vector<Reference> hooks, std::vector<TorchState::Name> names);

  // The same question in later calls. The first that is answered with yes begins to watch.
  bool Holds(PyObject* local_values);

  std::int64_t asked() const { return checks_.asked(); }
  bool is_watching() const { return later_ != nullptr; }
  // The guards that a call checks while the watch sees no change.
  std::vector<std::size_t> live() const;

  int Visit(visitproc visit, void* context) const;

 private:
  // What calls check while nothing changes.
  struct Later {
    Later(const std::vector<Node>& nodes, const Checks& checks, Values& values, const Roots& roots,
          const Classes& classes, const std::optional<TorchState>& state,
          const std::vector<int>& distinct);

    void Prefetch(const Checks& checks) const;

    Watch watch;
    Anchors anchors;
    LiveGuards live;
    std::vector<PyObject*> fixed;  // Distinct objects that are anchored, in order. Only compared.
    std::vector<int> others;       // Places of other distinct objects among the live nodes.
  };

  Roots RootsOf(PyObject* local_values) const;
  bool HoldsAll(Values& values);
  bool HoldsLater(const Later& later, const Roots& roots);
  void StartWatch(Values& values, const Roots& roots);

  std::vector<Node> nodes_;
  Checks checks_;
  Reference global_values_, modules_;
  Classes classes_;
  bool may_watch_;
  std::vector<std::size_t> order_;  // Guards on arguments first: those differ most often.
  std::vector<int> distinct_;
  std::optional<TorchState> state_;  // After BindState().
  // Shared with calls that are under way while another replaces it.
  std::shared_ptr<const Later> later_;
};

}  // namespace stoker::guards
