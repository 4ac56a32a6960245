#include "daemon/observe/miss_memory.h"

#include <algorithm>
#include <tuple>

#include "protocol/wire/proto/utf8.h"

namespace stoker {
namespace {

void Cut(std::string& text) {
  if (text.size() <= MissMemory::kMaxTextBytes) return;
  text = wire::ToValidUtf8(text.substr(0, MissMemory::kMaxTextBytes)) + "...";
}

}  // namespace

void MissMemory::Remember(Miss miss) {
  Cut(miss.text);
  if (miss.nearest) {
    Cut(miss.nearest->field);
    Cut(miss.nearest->theirs);
    Cut(miss.nearest->ours);
  }
  const std::lock_guard lock(mutex_);
  const std::pair key(miss.name_space, miss.job);
  if (!jobs_.contains(key) && jobs_.size() >= kMaxJobs) {
    jobs_.erase(std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  Job& job = jobs_[key];
  job.used = ++uses_;
  // The ranks of a job miss the same keys: that is one miss, many times.
  const auto same = std::find_if(job.misses.begin(), job.misses.end(),
                                 [&](const Miss& other) { return other.key == miss.key; });
  if (same != job.misses.end()) {
    miss.times += same->times;
    job.misses.erase(same);
  }
  job.misses.push_front(std::move(miss));
  if (job.misses.size() > kMaxMissesOfAJob) job.misses.pop_back();
}

template <typename Fits>
std::vector<Miss> MissMemory::Select(const Visible& visible, const Fits& fits) const {
  std::vector<Miss> selected;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, job] : jobs_) {
      if (!visible(key.first)) continue;
      for (const Miss& miss : job.misses) {
        if (fits(miss)) selected.push_back(miss);
      }
    }
  }
  std::ranges::sort(selected, [](const Miss& a, const Miss& b) {
    return std::tie(b.unix_s, a.key) < std::tie(a.unix_s, b.key);
  });
  return selected;
}

std::vector<Miss> MissMemory::OfJob(std::string_view job, const Visible& visible) const {
  return Select(visible, [&](const Miss& miss) { return miss.job == job; });
}

std::vector<Miss> MissMemory::OfKey(std::string_view prefix, const Visible& visible) const {
  return Select(visible, [&](const Miss& miss) { return miss.key.ToHex().starts_with(prefix); });
}

std::vector<std::string> MissMemory::Jobs(const Visible& visible) const {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, job] : jobs_) {
      if (visible(key.first) && !key.second.empty()) found.emplace_back(job.used, key.second);
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (auto& [used, name] : found) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace stoker
