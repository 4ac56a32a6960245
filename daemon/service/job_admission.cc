#include "daemon/service/job_admission.h"

#include <algorithm>

namespace stoker {

bool JobAdmission::Take(const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  if (IsFullLocked(name_space)) return false;
  ++jobs_;
  ++jobs_of_[name_space];
  return true;
}

bool JobAdmission::IsFull(const std::string& name_space) const {
  const std::lock_guard lock(mutex_);
  return IsFullLocked(name_space);
}

int JobAdmission::jobs() const {
  const std::lock_guard lock(mutex_);
  return jobs_;
}

bool JobAdmission::IsFullLocked(const std::string& name_space) const {
  if (jobs_ < limit_) return false;
  if (jobs_ >= kOverflow * limit_) return true;
  const auto it = jobs_of_.find(name_space);
  const int own = it == jobs_of_.end() ? 0 : it->second;
  const int tenants = static_cast<int>(jobs_of_.size()) + (own == 0 ? 1 : 0);
  return own >= std::max(1, limit_ / tenants);
}

void JobAdmission::Give(const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  --jobs_;
  const auto it = jobs_of_.find(name_space);
  if (--it->second == 0) jobs_of_.erase(it);
}

}  // namespace stoker
