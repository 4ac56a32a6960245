#include "runtime/cuda/branches/branches.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "runtime/cuda/branches/dependencies.h"

namespace stoker::cuda {
namespace {

// Of the works placed so far: who comes before whom, and when each would end if nothing but
// branches were in its way.
class Timeline {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  explicit Timeline(std::size_t works) : branch_of_(works), done_(works), ends_(works) {
    tails_.fill(kNone);
  }

  std::size_t count() const { return count_; }
  std::size_t TailOf(std::size_t branch) const { return tails_[branch]; }
  std::size_t BranchOf(std::size_t work) const { return branch_of_[work]; }
  double EndOf(std::size_t work) const { return work == kNone ? 0 : ends_[work]; }
  double EndOfAll(std::span<const std::size_t> works) const {
    double end = 0;
    for (const std::size_t work : works) end = std::max(end, ends_[work]);
    return end;
  }

  // `earlier` comes before `later`, or is it.
  bool IsDone(std::size_t earlier, std::size_t later) const {
    return earlier < done_[later][branch_of_[earlier]];
  }
  bool IsDone(std::size_t earlier, std::span<const std::size_t> later) const {
    return std::ranges::any_of(later, [&](std::size_t work) { return IsDone(earlier, work); });
  }

  // Those that do not come before others of them, descending.
  std::vector<std::size_t> Latest(std::vector<std::size_t> works) const {
    std::ranges::sort(works, std::greater<>());
    std::vector<std::size_t> latest;
    for (const std::size_t work : works) {
      if (!IsDone(work, latest)) latest.push_back(work);
    }
    return latest;
  }

  void Add(std::size_t work, std::size_t branch, std::span<const std::size_t> after,
           double microseconds) {
    for (const std::size_t earlier : after) {
      for (std::size_t i = 0; i < Branches::kMost; ++i) {
        done_[work][i] = std::max(done_[work][i], done_[earlier][i]);
      }
    }
    done_[work][branch] = work + 1;
    branch_of_[work] = branch;
    ends_[work] = EndOfAll(after) + Branches::kLaunchMicroseconds + microseconds;
    tails_[branch] = work;
    count_ = std::max(count_, branch + 1);
  }

 private:
  std::size_t count_ = 0;
  std::array<std::size_t, Branches::kMost> tails_;
  std::vector<std::size_t> branch_of_;
  // Of each work: up to which number, of each branch, works come before it, or are it.
  std::vector<std::array<std::size_t, Branches::kMost>> done_;
  std::vector<double> ends_;
};

// The branch that goes on with `work`: whose last one it needs, the one that ends last.
std::optional<std::size_t> Continued(const Timeline& timeline,
                                     std::span<const std::size_t> needed) {
  std::optional<std::size_t> best;
  for (std::size_t branch = 0; branch < timeline.count(); ++branch) {
    const std::size_t tail = timeline.TailOf(branch);
    if (std::ranges::find(needed, tail) == needed.end()) continue;
    if (!best || timeline.EndOf(tail) > timeline.EndOf(timeline.TailOf(*best))) best = branch;
  }
  return best;
}

// Where a work begins that no branch goes on with: in one that is there and has nothing else to do,
// in a new one, or in that which is free first.
std::size_t Freest(const Timeline& timeline, std::span<const std::size_t> needed) {
  for (std::size_t branch = 0; branch < timeline.count(); ++branch) {
    if (timeline.IsDone(timeline.TailOf(branch), needed)) return branch;
  }
  if (timeline.count() < Branches::kMost) return timeline.count();
  std::size_t best = 0;
  for (std::size_t branch = 1; branch < timeline.count(); ++branch) {
    if (timeline.EndOf(timeline.TailOf(branch)) < timeline.EndOf(timeline.TailOf(best))) {
      best = branch;
    }
  }
  return best;
}

std::size_t BranchFor(const Timeline& timeline, std::span<const std::size_t> needed,
                      const Work& work) {
  if (timeline.count() == 0) return 0;
  if (const auto continued = Continued(timeline, needed)) return *continued;
  // That of what it waits for longest, or the first.
  std::size_t home = 0;
  double ready = 0;
  for (const std::size_t earlier : needed) {
    if (timeline.EndOf(earlier) <= ready) continue;
    ready = timeline.EndOf(earlier);
    home = timeline.BranchOf(earlier);
  }
  const double waits = timeline.EndOf(timeline.TailOf(home)) - ready;
  const bool pays = work.microseconds >= Branches::kLeastMicroseconds &&
                    work.microseconds <= Branches::kMostMicroseconds &&
                    waits >= Branches::kLaunchMicroseconds + Branches::kLeastMicroseconds;
  return pays ? Freest(timeline, needed) : home;
}

}  // namespace

Branches Branches::Of(std::span<const Work> works) {
  const std::vector<std::vector<std::size_t>> dependencies = DependenciesOf(works);
  Timeline timeline(works.size());
  Branches made;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const std::vector<std::size_t> needed = timeline.Latest(dependencies[i]);
    Place& place = made.places_.emplace_back();
    place.branch = BranchFor(timeline, needed, works[i]);
    place.after = needed;
    const std::size_t tail = timeline.TailOf(place.branch);
    if (tail != Timeline::kNone) place.after.push_back(tail);
    place.after = timeline.Latest(std::move(place.after));
    timeline.Add(i, place.branch, place.after, works[i].microseconds);
    std::int64_t& workspace = made.workspace_bytes_[place.branch];
    workspace = std::max(workspace, works[i].workspace_bytes);
  }
  made.count_ = timeline.count();
  std::vector<std::size_t> tails;
  for (std::size_t i = 0; i < made.count_; ++i) tails.push_back(timeline.TailOf(i));
  made.last_ = timeline.Latest(std::move(tails));
  return made;
}

std::string Branches::ToString() const {
  const auto after = [](std::span<const std::size_t> works) {
    std::string text = works.empty() ? "\n" : " after";
    for (const std::size_t work : works) text += " " + std::to_string(work);
    return works.empty() ? text : text + "\n";
  };
  std::string text;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    text += std::to_string(i) + ": branch " + std::to_string(places_[i].branch) +
            after(places_[i].after);
  }
  return text + "end" + after(last_);
}

}  // namespace stoker::cuda
