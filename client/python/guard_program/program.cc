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
      global_values_(std::move(parts.global_values)),
      modules_(std::move(parts.modules)),
      bind_tensors_(std::move(parts.bind_tensors)),
      classes_(std::move(parts.classes)),
      may_watch_(parts.may_watch && Watch::IsSupported()),
      places_{{}, ReadPlaces(parts.distinct, nodes_.size())},
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
  Places distinct = {{}, places_.others};
  distinct.others.insert(distinct.others.end(), places_.tensors.begin(), places_.tensors.end());
  return AreDistinct(values, distinct) ? kAllHold : static_cast<std::int64_t>(count);
}

// Tensors are checked before: TensorsHold() sees that no two of them are one.
bool Program::AreDistinct(Values& values, const Places& places) {
  if (places.others.empty()) return true;
  std::vector<PyObject*> found;
  for (const auto* list : {&places.others, &places.tensors}) {
    for (const int place : *list) {
      PyObject* value = values.Get(place);
      if (value == nullptr) return false;
      found.push_back(value);
    }
  }
  std::sort(found.begin(), found.end());
  return std::adjacent_find(found.begin(), found.end()) == found.end();
}

bool Program::Holds(PyObject* local_values) {
  const Roots roots = RootsOf(local_values);
  if (const std::shared_ptr<const Later> later = later_; later && later->watch.Unchanged(roots)) {
    return HoldsLater(*later, roots);
  }
  Values values(nodes_, roots);
  if (!HoldsAll(values)) return false;
  if (bound_.empty()) BindTensors(values);
  if (may_watch_) StartWatch(values, roots);
  return true;
}

bool Program::HoldsLater(const Later& later, const Roots& roots) {
  PrefetchTensors();            // They are looked at last.
  std::vector<Reference> kept;  // Lives longer than `values`, which borrows from it.
  Values values(later.live.nodes(), roots);
  later.live.Start(values, kept);
  for (const LiveGuards::Question& question : later.live.questions()) {
    if (!checks_.Holds(question.guard, values, question.place, question.other)) return false;
  }
  for (std::size_t i = 0; i < later.tensors.size(); ++i) {  // A nested call may bind more.
    if (!TensorsHold(bound_[i].check, values, later.tensors[i])) return false;
  }
  return AreDistinct(values, later.distinct);
}

bool Program::HoldsAll(Values& values) {
  for (const std::size_t i : order_) {
    const Guard& guard = checks_.guards()[i];
    const bool is_bound = is_tensor_[static_cast<std::size_t>(guard.place)];
    if (is_bound && (guard.kind == Kind::kTensor || guard.kind == Kind::kType)) continue;
    if (!checks_.Holds(i, values)) return false;
  }
  for (const Bound& together : bound_) {
    if (!TensorsHold(together.check, values, together.places)) return false;
  }
  return AreDistinct(values, places_);
}

bool Program::TensorsHold(const Reference& check, Values& values, const std::vector<int>& places) {
  const Reference arguments = OrThrow(PyTuple_New(static_cast<Py_ssize_t>(places.size())));
  for (std::size_t i = 0; i < places.size(); ++i) {
    PyObject* value = values.Get(places[i]);
    if (value == nullptr) return false;
    Py_INCREF(value);
    PyTuple_SetItem(arguments.get(), static_cast<Py_ssize_t>(i), value);
  }
  const Reference answer = Reference::Steal(PyObject_Call(check.get(), arguments.get(), nullptr));
  if (!answer) SwallowException();
  return answer.get() == Py_True;
}

// Tensors of fixed sizes, with which guards held a moment ago: those that must be distinct
// together, others, such as weights that are tied, by themselves.
void Program::BindTensors(Values& values) {
  std::vector<int> distinct;
  std::vector<int> others;
  for (const Guard& guard : checks_.guards()) {
    if (guard.kind != Kind::kTensor || HasAnySize(guard.tensor->size.get()) ||
        HasAnySize(guard.tensor->stride.get())) {
      continue;
    }
    const bool is_distinct =
        std::binary_search(places_.others.begin(), places_.others.end(), guard.place);
    (is_distinct ? distinct : others).push_back(guard.place);
  }
  for (std::vector<int>* places : {&distinct, &others}) {
    std::sort(places->begin(), places->end());
    places->erase(std::unique(places->begin(), places->end()), places->end());
  }
  if (BindTogether(values, distinct)) {
    std::erase_if(places_.others,
                  [&](int place) { return is_tensor_[static_cast<std::size_t>(place)]; });
    places_.tensors = std::move(distinct);
  }
  for (const int place : others) BindTogether(values, {place});
}

bool Program::BindTogether(Values& values, std::vector<int> places) {
  if (places.empty()) return false;
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
  if (check.get() == Py_None) return false;
  for (const int place : places) is_tensor_[static_cast<std::size_t>(place)] = true;
  bound_.push_back({std::move(places), std::move(check)});
  return true;
}

void Program::PrefetchTensors() const {
  for (const char* memory : tensor_memory_) {
    for (int line = 0; line < kTensorLines; ++line) __builtin_prefetch(memory + line * kLine, 0, 2);
  }
}

void Program::StartWatch(Values& values, const Roots& roots) {
  later_.reset();
  for (const Bound& together : bound_) {
    for (const int place : together.places) values.Get(place);
  }
  auto later = std::make_shared<const Later>(nodes_, checks_, values, roots, classes_, is_tensor_,
                                             places_, bound_);
  Values again(nodes_, roots);
  if (HoldsAll(again) && later->watch.Unchanged(roots)) later_ = std::move(later);
}

std::vector<std::size_t> Program::live() const {
  if (!later_) return order_;
  std::vector<std::size_t> numbers;
  for (const LiveGuards::Question& question : later_->live.questions()) {
    numbers.push_back(question.guard);
  }
  return numbers;
}

int Program::Visit(visitproc visit, void* arg) const {
  Py_VISIT(global_values_.get());
  Py_VISIT(bind_tensors_.get());
  for (const Bound& together : bound_) Py_VISIT(together.check.get());
  return checks_.Visit(visit, arg);
}

}  // namespace stoker::guards
