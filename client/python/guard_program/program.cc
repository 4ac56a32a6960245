#include "client/python/guard_program/program.h"

#include <algorithm>
#include <utility>

namespace stoker::guards {
namespace {

constexpr int kLine = 64;          // Bytes of a cache line.
constexpr int kTensorLines = 4;    // Of PyTorch's TensorImpl.
constexpr int kArgumentDepth = 0;  // Of paths that are a root.

std::vector<int> ReadPlaces(PyObject* list, std::size_t nodes) {
  std::vector<int> places;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const long place = PyLong_AsLong(PyList_GetItem(list, i));
    if (PyErr_Occurred()) throw PythonError();
    if (place < 0 || static_cast<std::size_t>(place) >= nodes) {
      PyErr_SetString(PyExc_ValueError, "A place of a guard program is out of range.");
      throw PythonError();
    }
    places.push_back(static_cast<int>(place));
  }
  return places;
}

bool HasAnySize(PyObject* sizes) { return PySequence_Contains(sizes, Py_None) == 1; }

}  // namespace

Program::Program(Parts parts)
    : nodes_(ReadNodes(parts.nodes, parts.decode, parts.steps, parts.builtins)),
      checks_(parts.guards, nodes_.size(), parts.decode, parts.dtypes, std::move(parts.callables)),
      distinct_(ReadPlaces(parts.distinct, nodes_.size())),
      global_values_(std::move(parts.global_values)),
      modules_(std::move(parts.modules)),
      bind_tensors_(std::move(parts.bind_tensors)),
      classes_(std::move(parts.classes)),
      may_watch_(parts.may_watch && Watch::IsSupported()),
      is_tensor_(nodes_.size()) {
  for (const bool on_argument : {true, false}) {
    for (std::size_t i = 0; i < checks_.guards().size(); ++i) {
      const int depth = nodes_[static_cast<std::size_t>(checks_.guards()[i].place)].depth;
      if ((depth <= kArgumentDepth) == on_argument) order_.push_back(i);
    }
  }
}

Roots Program::RootsOf(PyObject* local_values) const {
  return {local_values, global_values_.get(), modules_.get()};
}

std::int64_t Program::FirstFailure(PyObject* local_values) {
  Values values(nodes_, RootsOf(local_values));
  const std::size_t count = checks_.guards().size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!checks_.Holds(i, values)) return static_cast<std::int64_t>(i);
  }
  return AreDistinct(values, false) ? kAllHold : static_cast<std::int64_t>(count);
}

bool Program::AreDistinct(Values& values, bool tensors_are) const {
  std::vector<PyObject*> found;
  for (const int place : distinct_) {
    if (tensors_are && is_tensor_[static_cast<std::size_t>(place)]) continue;
    PyObject* value = values.Get(place);
    if (value == nullptr) return false;
    found.push_back(value);
  }
  if (tensors_are && !found.empty()) {
    for (const int place : tensors_) found.push_back(values.Get(place));
  }
  std::sort(found.begin(), found.end());
  return std::adjacent_find(found.begin(), found.end()) == found.end();
}

bool Program::Holds(PyObject* local_values) {
  const Roots roots = RootsOf(local_values);
  if (const std::shared_ptr<const Watch> watch = watch_; watch && watch->Unchanged(roots)) {
    return HoldsLive(*watch, roots);
  }
  Values values(nodes_, roots);
  if (!HoldsAll(values)) return false;
  if (!tensor_check_) BindTensors(values);
  if (may_watch_) StartWatch(values, roots);
  return true;
}

bool Program::HoldsLive(const Watch& watch, const Roots& roots) {
  PrefetchTensors();            // They are looked at last.
  std::vector<Reference> kept;  // Lives longer than `values`, which borrows from it.
  Values values(nodes_, roots);
  watch.Start(values, kept);
  for (const std::size_t i : watch.live()) {
    if (!checks_.Holds(i, values)) return false;
  }
  return TensorsHold(values) && AreDistinct(values, true);
}

bool Program::HoldsAll(Values& values) {
  for (const std::size_t i : order_) {
    const Guard& guard = checks_.guards()[i];
    const bool is_bound = is_tensor_[static_cast<std::size_t>(guard.place)];
    if (is_bound && (guard.kind == Kind::kTensor || guard.kind == Kind::kType)) continue;
    if (!checks_.Holds(i, values)) return false;
  }
  return TensorsHold(values) && AreDistinct(values, true);
}

bool Program::TensorsHold(Values& values) {
  if (!tensor_check_) return true;
  const Reference arguments = OrThrow(PyTuple_New(static_cast<Py_ssize_t>(tensors_.size())));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    PyObject* value = values.Get(tensors_[i]);
    if (value == nullptr) return false;
    Py_INCREF(value);
    PyTuple_SetItem(arguments.get(), static_cast<Py_ssize_t>(i), value);
  }
  const Reference answer =
      Reference::Steal(PyObject_Call(tensor_check_.get(), arguments.get(), nullptr));
  if (!answer) SwallowException();
  return answer.get() == Py_True;
}

// The distinct tensors of fixed sizes, with which guards held a moment ago.
void Program::BindTensors(Values& values) {
  std::vector<int> places;
  for (const Guard& guard : checks_.guards()) {
    if (guard.kind == Kind::kTensor && !HasAnySize(guard.tensor->size.get()) &&
        !HasAnySize(guard.tensor->stride.get()) &&
        std::binary_search(distinct_.begin(), distinct_.end(), guard.place)) {
      places.push_back(guard.place);
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.empty()) return;
  const Reference tensors = OrThrow(PyList_New(0));
  for (const int place : places) {
    PyObject* value = values.Get(place);
    if (value == nullptr || PyList_Append(tensors.get(), value) < 0) throw PythonError();
    const Reference address = Reference::Steal(PyObject_GetAttrString(value, "_cdata"));
    if (address)
      tensor_memory_.push_back(static_cast<const char*>(PyLong_AsVoidPtr(address.get())));
    if (PyErr_Occurred()) SwallowException();
  }
  Reference check =
      OrThrow(PyObject_CallFunctionObjArgs(bind_tensors_.get(), tensors.get(), nullptr));
  if (check.get() == Py_None) return;
  tensor_check_ = std::move(check);
  for (const int place : places) is_tensor_[static_cast<std::size_t>(place)] = true;
  tensors_ = std::move(places);
}

void Program::PrefetchTensors() const {
  for (const char* memory : tensor_memory_) {
    for (int line = 0; line < kTensorLines; ++line) __builtin_prefetch(memory + line * kLine, 0, 2);
  }
}

void Program::StartWatch(Values& values, const Roots& roots) {
  watch_.reset();
  for (const int place : tensors_) values.Get(place);
  auto watch = std::make_shared<Watch>(nodes_, checks_, values, roots, classes_, is_tensor_);
  watch->NeedEvery(nodes_, tensors_);
  watch->NeedEvery(nodes_, distinct_);
  Values again(nodes_, roots);
  if (HoldsAll(again) && watch->Unchanged(roots)) watch_ = std::move(watch);
}

int Program::Visit(visitproc visit, void* arg) const {
  Py_VISIT(global_values_.get());
  Py_VISIT(bind_tensors_.get());
  Py_VISIT(tensor_check_.get());
  return checks_.Visit(visit, arg);
}

}  // namespace stoker::guards
