#include "daemon/observe/active_compiles.h"

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

double Seconds(ActiveCompiles::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

ActiveCompiles::Id ActiveCompiles::Add(ActiveCompile compile) {
  const auto now = now_();
  const std::lock_guard lock(mutex_);
  entries_.emplace(next_, Entry{std::move(compile), now, std::nullopt});
  return next_++;
}

void ActiveCompiles::GivePlace(Id id) {
  const auto now = now_();
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(id);
  entry.placed = now;
  entry.compile.stage = "starting";
}

void ActiveCompiles::Report(Id id, const wire::Progress& progress) {
  const std::lock_guard lock(mutex_);
  ActiveCompile& compile = entries_.at(id).compile;
  compile.stage = progress.stage;
  compile.done = progress.done;
  compile.total = progress.total;
}

void ActiveCompiles::Remove(Id id) {
  const std::lock_guard lock(mutex_);
  entries_.erase(id);
}

ActiveCompiles::Snapshot ActiveCompiles::Take(const Visible& visible, std::size_t limit) const {
  const auto now = now_();
  Snapshot snapshot;
  const std::lock_guard lock(mutex_);
  for (const bool runs : {true, false}) {
    for (const auto& [id, entry] : entries_) {
      if (entry.placed.has_value() != runs) continue;
      const double waited = Seconds(entry.placed.value_or(now) - entry.entered);
      if (!runs) snapshot.oldest_waiting_s = std::max(snapshot.oldest_waiting_s, waited);
      if (snapshot.compiles.size() >= limit || !visible(entry.compile.name_space)) continue;
      ActiveCompile& shown = snapshot.compiles.emplace_back(entry.compile);
      shown.waited_s = waited;
      if (runs) shown.running_s = Seconds(now - *entry.placed);
    }
  }
  return snapshot;
}

}  // namespace stoker
