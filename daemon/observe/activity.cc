#include "daemon/observe/activity.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "protocol/wire/proto/utf8.h"

namespace stoker {
namespace {

constexpr std::int64_t kMinuteS = 60;

std::int64_t SteadySeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ActivityCounts& ActivityCounts::operator+=(const ActivityCounts& more) {
  hits += more.hits;
  misses += more.misses;
  compiles += more.compiles;
  compile_seconds += more.compile_seconds;
  return *this;
}

Activity::Activity() : Activity(SteadySeconds) {}

void Activity::Forget(Minutes& minutes, std::int64_t now) {
  while (!minutes.empty() && minutes.front().minute <= now - kMinutes) minutes.pop_front();
}

void Activity::Add(const std::string& name_space, std::string_view name,
                   const ActivityCounts& counts) {
  if (name.empty()) return;
  const std::int64_t now = now_s_() / kMinuteS;
  const std::pair key(name_space, wire::ToValidUtf8(name.substr(0, kMaxNameBytes)));
  const std::lock_guard lock(mutex_);
  if (!names_.contains(key) && names_.size() >= kMaxNames) {
    names_.erase(std::min_element(names_.begin(), names_.end(), [](const auto& a, const auto& b) {
      return a.second.back().minute < b.second.back().minute;
    }));
  }
  Minutes& minutes = names_[key];
  if (minutes.empty() || minutes.back().minute != now) minutes.push_back({now, {}});
  minutes.back().counts += counts;
  Forget(minutes, now);
}

std::vector<Activity::Row> Activity::Busiest(const Visible& visible, std::size_t limit) const {
  const std::int64_t now = now_s_() / kMinuteS;
  std::vector<Row> rows;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, minutes] : names_) {
      if (!visible(key.first) || minutes.back().minute <= now - kMinutes) continue;
      Row& row = rows.emplace_back(Row{key.first, key.second, {}});
      for (const Minute& minute : minutes) {
        if (minute.minute > now - kMinutes) row.counts += minute.counts;
      }
    }
  }
  const auto rank = [](const Row& row) {
    return std::tuple(row.counts.requests(), row.counts.compile_seconds);
  };
  const auto name = [](const Row& row) { return std::tie(row.name_space, row.name); };
  std::ranges::sort(rows, [&](const Row& a, const Row& b) {
    return rank(a) != rank(b) ? rank(a) > rank(b) : name(a) < name(b);
  });
  if (rows.size() > limit) rows.resize(limit);
  return rows;
}

}  // namespace stoker
