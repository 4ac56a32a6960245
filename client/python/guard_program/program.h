#pragma once

#include <memory>
#include <vector>

#include "client/python/guard_program/checks.h"
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
  bool is_watching() const { return watch_ != nullptr; }
  // The guards that a call checks while the watch sees no change.
  std::vector<std::size_t> live() const { return watch_ ? watch_->live() : order_; }

  int Visit(visitproc visit, void* context) const;

 private:
  Roots RootsOf(PyObject* local_values) const;
  // `tensors_are`: TensorsHold() has seen that the bound tensors are.
  bool AreDistinct(Values& values, bool tensors_are) const;
  bool HoldsAll(Values& values);
  bool HoldsLive(const Watch& watch, const Roots& roots);
  bool TensorsHold(Values& values);
  void BindTensors(Values& values);
  void PrefetchTensors() const;
  void StartWatch(Values& values, const Roots& roots);

  std::vector<Node> nodes_;
  Checks checks_;
  std::vector<int> distinct_;
  Reference global_values_, modules_, bind_tensors_;
  Classes classes_;
  bool may_watch_;
  std::vector<std::size_t> order_;  // Guards on arguments first: those differ most often.
  // After BindTensors().
  std::vector<int> tensors_;
  std::vector<bool> is_tensor_;
  Reference tensor_check_;
  std::vector<const char*> tensor_memory_;  // Where tensors lay: only ever prefetched.
  // Shared with calls that are under way while another replaces it.
  std::shared_ptr<const Watch> watch_;
};

}  // namespace stoker::guards
