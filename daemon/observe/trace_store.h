// TraceStore: where the time of the latest compiles went. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/observe/visible.h"
#include "protocol/base/digest.h"
#include "protocol/wire/messages.h"

namespace stoker {

// All times count from the moment at which the compile was asked for.
struct CompileTrace {
  std::string name_space;
  Digest key;
  std::string model;  // The graph's name.
  std::string job;
  std::string request_id;
  double began_unix_s = 0;
  std::uint64_t total_us = 0;
  std::vector<wire::Span> daemon;  // One after the other.
  std::vector<wire::Span> worker;

  std::size_t bytes() const;
};

class TraceStore {
 public:
  static constexpr std::size_t kMaxTraces = 64;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  // The latest of its key and namespace takes the place of an earlier one. One that is larger than
  // all that may be kept is not.
  void Keep(CompileTrace trace);
  // Of keys that start so in hexadecimal, in `name_space` (empty: in all), newest first.
  std::vector<std::shared_ptr<const CompileTrace>> Find(std::string_view prefix,
                                                        std::string_view name_space,
                                                        const Visible& visible) const;
  // The newest of these; null: there is none.
  std::shared_ptr<const CompileTrace> Latest(std::string_view name_space,
                                             const Visible& visible) const;

 private:
  mutable std::mutex mutex_;                                // Guards what follows.
  std::deque<std::shared_ptr<const CompileTrace>> traces_;  // Newest first.
  std::size_t bytes_ = 0;
};

// The spans as they lie within [begin_us, end_us], which they are moved to from a zero of their
// own: whoever measured them is not believed.
std::vector<wire::Span> MovedInto(std::vector<wire::Span> spans, std::uint64_t begin_us,
                                  std::uint64_t end_us);

}  // namespace stoker
