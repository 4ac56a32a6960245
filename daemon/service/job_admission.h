// JobAdmission: how many compiles run and wait, and whether one more may. Safe from any thread.
//
// A tenant that fills the queue closes it to itself, not to others: beyond the limit a namespace is
// still admitted as long as it has less than its share, the limit divided by the namespaces that
// have any. All together have at most kOverflow times the limit.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace stoker {

class JobAdmission {
 public:
  static constexpr int kOverflow = 2;

  // A place among the jobs, given back when it is destroyed.
  class Job {
   public:
    Job(std::shared_ptr<JobAdmission> admission, std::string name_space)
        : admission_(std::move(admission)), name_space_(std::move(name_space)) {}
    Job(Job&&) = default;
    Job& operator=(Job&&) = delete;
    ~Job() {
      if (admission_ != nullptr) admission_->Give(name_space_);
    }

   private:
    std::shared_ptr<JobAdmission> admission_;  // A coroutine's end may come after the service's.
    std::string name_space_;
  };

  explicit JobAdmission(int limit) : limit_(limit) {}

  // False: there is no room, and nothing was taken. What was taken belongs to one Job.
  bool Take(const std::string& name_space);
  bool IsFull(const std::string& name_space) const;
  int limit() const { return limit_; }
  int jobs() const;

 private:
  bool IsFullLocked(const std::string& name_space) const;
  void Give(const std::string& name_space);

  const int limit_;
  mutable std::mutex mutex_;  // Guards what follows.
  int jobs_ = 0;
  std::map<std::string, int> jobs_of_;  // Of namespaces that have any.
};

}  // namespace stoker
