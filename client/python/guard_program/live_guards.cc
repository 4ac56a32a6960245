#include "client/python/guard_program/live_guards.h"

#include <algorithm>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {

LiveGuards::LiveGuards(const std::vector<Node>& program_nodes, const Checks& checks,
                       const Anchors& anchors)
    : program_nodes_(program_nodes), anchors_(anchors), places_(program_nodes.size(), kNoNode) {
  std::map<std::pair<int, int>, std::vector<std::size_t>> asked;  // By place and other: guards.
  for (const auto& [number, bare] : anchors.live()) {
    const Guard& guard = checks.guards()[number];
    const int place = PlaceOf(guard.place);
    const int other = guard.other == kNoNode ? kNoNode : PlaceOf(guard.other);
    std::vector<std::size_t>& same_place = asked[{place, other}];
    if (std::ranges::any_of(same_place, [&](std::size_t earlier) {
          return AskTheSame(checks.guards()[earlier], guard);
        })) {
      continue;
    }
    same_place.push_back(number);
    questions_.push_back({number, place, other, bare});
  }
}

std::vector<int> LiveGuards::PlacesOf(const std::vector<int>& program_places) {
  std::vector<int> places;
  for (const int place : program_places) places.push_back(PlaceOf(place));
  return places;
}

STOKER_EVERY_CALL void LiveGuards::Prefetch(const Checks& checks) const {
  guards::Prefetch(nodes_.data(), nodes_.size() * sizeof(Node));
  for (const Question& question : questions_) checks.Prefetch(question.guard);
}

STOKER_EVERY_CALL void LiveGuards::Start(Values& values) const {
  for (const auto& [place, value] : starts_) {
    values.Give(place, Reference::Share(value));
  }
}

int LiveGuards::PlaceOf(int program_place) {
  // A recursion of at most kMaxDepth.
  const auto index = static_cast<std::size_t>(program_place);
  if (places_[index] != kNoNode) return places_[index];
  if (PyObject* value = anchors_.Find(program_place)) {
    return places_[index] = AddStart(value);
  }
  Node node = program_nodes_[index];
  if (node.parent != kNoNode) node.parent = PlaceOf(node.parent);
  if (node.argument_node != kNoNode) node.argument_node = PlaceOf(node.argument_node);
  const Path path(node.step, node.parent, node.argument_node, node.argument.get(), node.call.get());
  const auto [known, is_new] = known_paths_.emplace(path, static_cast<int>(nodes_.size()));
  if (is_new) nodes_.push_back(std::move(node));
  return places_[index] = known->second;
}

int LiveGuards::AddStart(PyObject* value) {
  const auto place = static_cast<int>(nodes_.size());
  const auto [known, is_new] = known_starts_.emplace(value, place);
  if (is_new) {
    starts_.emplace_back(place, value);
    nodes_.emplace_back();
  }
  return known->second;
}

}  // namespace stoker::guards
