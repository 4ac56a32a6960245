#include "client/python/guard_program/program.h"

#include <algorithm>
#include <utility>

#include "client/python/guard_program/huge_pages.h"
#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {
namespace {

constexpr std::size_t kFew = 8;
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

bool AreManyDistinct(Values& values, const std::vector<int>& places) {
  std::vector<PyObject*> found;
  for (const int place : places) found.push_back(values.Get(place));
  std::ranges::sort(found);
  return std::ranges::adjacent_find(found) == found.end();
}

// Is each node an object that neither another node nor one of `fixed`, which is in order, is?
STOKER_EVERY_CALL bool AreDistinct(Values& values, const std::vector<int>& places,
                                   const std::vector<PyObject*>& fixed) {
  const bool are_few = places.size() <= kFew;  // Then nothing is allocated.
  for (std::size_t i = 0; i < places.size(); ++i) {
    PyObject* value = values.Get(places[i]);
    if (value == nullptr || std::ranges::binary_search(fixed, value)) return false;
    for (std::size_t earlier = 0; are_few && earlier < i; ++earlier) {
      if (values.Get(places[earlier]) == value) return false;
    }
  }
  return are_few || AreManyDistinct(values, places);
}

}  // namespace

Program::Program(Parts parts)
    : nodes_(ReadNodes(parts.nodes, parts.decode, parts.steps, parts.builtins)),
      checks_(parts.guards, nodes_.size(), parts.decode, parts.dtypes, std::move(parts.callables)),
      global_values_(std::move(parts.global_values)),
      modules_(std::move(parts.modules)),
      classes_(std::move(parts.classes)),
      may_watch_(parts.may_watch && PythonLayout::Get() != nullptr),
      distinct_(ReadPlaces(parts.distinct, nodes_.size())) {
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
  return AreDistinct(values, distinct_, {}) ? kAllHold : static_cast<std::int64_t>(count);
}

bool Program::BindState(std::vector<Reference> hooks, std::vector<TorchState::Name> names) {
  state_ = TorchState::Now(std::move(hooks), std::move(names));
  return state_.has_value();
}

STOKER_EVERY_CALL bool Program::Holds(PyObject* local_values) {
  guards::Prefetch(this, sizeof *this);
  if (const std::shared_ptr<const Later> later = later_) {
    guards::Prefetch(later.get(), sizeof *later);
    PrefetchEveryCall();
    if (state_) TorchState::Prefetch();
    later->watch.Prefetch();
    later->Prefetch(checks_);
    const Roots roots = RootsOf(local_values);
    if (later->watch.Unchanged(roots)) {
      return (!state_ || state_->AnswersUnchanged()) && HoldsLater(*later, roots);
    }
  }
  if (state_ && !state_->Unchanged()) return false;
  const Roots roots = RootsOf(local_values);
  Values values(nodes_, roots);
  if (!HoldsAll(values)) return false;
  if (may_watch_) StartWatch(values, roots);
  return true;
}

STOKER_EVERY_CALL bool Program::HoldsLater(const Later& later, const Roots& roots) {
  Values values(later.live.nodes(), roots);
  later.live.Start(values);
  for (const LiveGuards::Question& question : later.live.questions()) {
    PyObject* value = values.Get(question.place);
    if (value == nullptr) return false;
    if (Py_TYPE(value) == question.bare && IsBare(value)) continue;
    if (checks_.HoldsAtOnce(question.guard, value)) continue;
    if (!checks_.Holds(question.guard, values, question.place, question.other)) return false;
  }
  return AreDistinct(values, later.others, later.fixed);
}

bool Program::HoldsAll(Values& values) {
  return std::ranges::all_of(order_, [&](std::size_t i) { return checks_.Holds(i, values); }) &&
         AreDistinct(values, distinct_, {});
}

void Program::StartWatch(Values& values, const Roots& roots) {
  later_.reset();
  auto later =
      std::make_shared<const Later>(nodes_, checks_, values, roots, classes_, state_, distinct_);
  Values again(nodes_, roots);
  if (!HoldsAll(again) || !later->watch.Unchanged(roots)) return;
  GatherOnHugePages(later->watch.Addresses());
  later_ = std::move(later);
}

Program::Later::Later(const std::vector<Node>& nodes, const Checks& checks, Values& values,
                      const Roots& roots, const Classes& classes,
                      const std::optional<TorchState>& state, const std::vector<int>& distinct)
    : anchors(nodes, checks, values, roots, classes, *PythonLayout::Get(), watch),
      live(nodes, checks, anchors) {
  if (state) state->AddTo(watch);
  watch.Finish();
  std::vector<int> moving;
  for (const int place : distinct) {
    if (PyObject* value = anchors.Find(place)) {
      fixed.push_back(value);
    } else {
      moving.push_back(place);
    }
  }
  std::ranges::sort(fixed);
  others = live.PlacesOf(moving);
}

STOKER_EVERY_CALL void Program::Later::Prefetch(const Checks& checks) const {
  live.Prefetch(checks);
  guards::Prefetch(fixed.data(), fixed.size() * sizeof fixed[0]);
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
  return checks_.Visit(visit, arg);
}

}  // namespace stoker::guards
