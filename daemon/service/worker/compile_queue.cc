#include "daemon/service/worker/compile_queue.h"

#include <algorithm>
#include <tuple>

#include "protocol/base/check.h"

namespace stoker {

void Turns::Join(const std::string& name) {
  const auto [it, is_new] = flows_.try_emplace(name);
  Flow& flow = it->second;
  if (!is_new && flow.waits) return;
  flow.due = std::max(flow.due, now_);
  flow.place = joined_++;
  flow.waits = true;
  ++waiting_;
}

const std::string& Turns::Next() const {
  STOKER_CHECK(waiting_ > 0);
  const auto rank = [](const Flow& flow) {
    return std::tuple(!flow.waits, flow.due, flow.served, flow.place);
  };
  return std::min_element(
             flows_.begin(), flows_.end(),
             [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); })
      ->first;
}

void Turns::Take(const std::string& name) {
  Flow& flow = flows_.at(name);
  flow.due += kTurn;
  flow.served = ++served_;
  now_ += kTurn / waiting_;
}

void Turns::Leave(const std::string& name) {
  flows_.at(name).waits = false;
  --waiting_;
  std::erase_if(flows_,
                [this](const auto& flow) { return !flow.second.waits && flow.second.due < now_; });
}

CompileQueue::Id CompileQueue::Enter(const std::string& name_space, const std::string& job) {
  const std::lock_guard lock(mutex_);
  const Id id = next_id_++;
  waiting_.emplace(id, Waiting{name_space, job});
  Tenant& tenant = tenants_[name_space];
  tenant.jobs[job].push_back(id);
  tenant.turns.Join(job);
  turns_.Join(name_space);
  FillLocked();
  return id;
}

bool CompileQueue::HasPlace(Id id) const {
  const std::lock_guard lock(mutex_);
  return placed_.contains(id);
}

void CompileQueue::Leave(Id id) {
  const std::lock_guard lock(mutex_);
  if (placed_.erase(id) > 0) {
    ++free_;
    FillLocked();
  } else if (const auto it = waiting_.find(id); it != waiting_.end()) {
    RemoveLocked(it);
  }
}

void CompileQueue::FillLocked() {
  while (free_ > 0 && !waiting_.empty()) {
    const std::string& name_space = turns_.Next();
    turns_.Take(name_space);
    Tenant& tenant = tenants_.at(name_space);
    const std::string& job = tenant.turns.Next();
    tenant.turns.Take(job);
    const Id id = tenant.jobs.at(job).front();
    RemoveLocked(waiting_.find(id));
    placed_.insert(id);
    --free_;
  }
}

void CompileQueue::RemoveLocked(std::map<Id, Waiting>::iterator it) {
  const auto& [name_space, job] = it->second;
  Tenant& tenant = tenants_.at(name_space);
  const auto queue = tenant.jobs.find(job);
  std::erase(queue->second, it->first);
  if (queue->second.empty()) {
    tenant.jobs.erase(queue);
    tenant.turns.Leave(job);
  }
  if (tenant.jobs.empty()) turns_.Leave(name_space);
  waiting_.erase(it);
  std::erase_if(tenants_, [this](const auto& each) { return !turns_.Knows(each.first); });
}

}  // namespace stoker
