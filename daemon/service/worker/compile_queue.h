// CompileQueue: whose compile comes next. Namespaces take turns, and within one its jobs; the
// compiles of a job keep their order. So a thousand compiles of one tenant delay the single one of
// another by what is running, and by no more. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace stoker {

// Who of those that wait is next. Turns are counted, not time: a long compile costs its tenant one.
//
// A clock runs by one turn in which each of those that wait is served once. Who comes anew comes at
// the time of this clock, and so before whoever was served ahead of it, but behind who has waited
// for a whole round: no stream of newcomers keeps anybody waiting for ever. Who was served is
// remembered until the clock has passed that turn: it is no newcomer when it comes again.
class Turns {
 public:
  // Waits from now on, if it does not already.
  void Join(const std::string& name);
  // Who is next; somebody waits.
  const std::string& Next() const;
  // It had its turn.
  void Take(const std::string& name);
  // Waits no more.
  void Leave(const std::string& name);
  // Whether it waits or is remembered.
  bool Knows(const std::string& name) const { return flows_.contains(name); }

 private:
  static constexpr std::uint64_t kTurn = std::uint64_t{1} << 20;

  struct Flow {
    std::uint64_t due = 0;     // When it is to be served.
    std::uint64_t served = 0;  // The place of its latest turn among all turns; 0: it had none.
    std::uint64_t place = 0;   // In the order of coming.
    bool waits = true;
  };

  std::map<std::string, Flow> flows_;
  std::uint64_t now_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint64_t joined_ = 0;
  std::uint64_t served_ = 0;
};

class CompileQueue {
 public:
  using Id = std::uint64_t;

  explicit CompileQueue(int places) : free_(places) {}

  // Gets a place if one is free, and waits otherwise.
  Id Enter(const std::string& name_space, const std::string& job);
  bool HasPlace(Id id) const;
  // Gives its place to who is next, or its hope for one up. The caller tells who waits.
  void Leave(Id id);

 private:
  struct Tenant {
    Turns turns;  // Of its jobs.
    std::map<std::string, std::deque<Id>> jobs;
  };
  struct Waiting {
    std::string name_space;
    std::string job;
  };

  void FillLocked();
  // Takes one that waits out of the queue of its job.
  void RemoveLocked(std::map<Id, Waiting>::iterator it);

  mutable std::mutex mutex_;  // Guards what follows.
  int free_;
  Id next_id_ = 0;
  std::set<Id> placed_;
  std::map<Id, Waiting> waiting_;
  Turns turns_;  // Of the namespaces.
  std::map<std::string, Tenant> tenants_;
};

}  // namespace stoker
