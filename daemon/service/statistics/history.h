// History: what was counted when: a row a minute for the last day, a row an hour for three months
// before. Answers "how was it since this morning", and draws what a dashboard shows.
//
// Times are seconds since 1970. A clock that is set back makes nothing count twice.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/counter_store.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::int64_t kHistoryMinuteS = 60;
inline constexpr std::int64_t kHistoryHourS = 3600;
// How far back there are rows of a minute, and any.
inline constexpr std::int64_t kHistoryFineS = 24 * kHistoryHourS;
inline constexpr std::int64_t kHistoryLongestS = 90 * 24 * kHistoryHourS;
// In a row; of more, those that come first by name.
inline constexpr std::size_t kMaxCountersOfARow = 1024;

class History {
 public:
  // What was added to which counter within [begin_s, end_s).
  struct Row {
    std::int64_t begin_s = 0;
    std::int64_t end_s = 0;
    Counters added;
    friend bool operator==(const Row&, const Row&) = default;
  };

  // `totals` are what counters hold now: what is added from here on is history.
  History(std::int64_t now_s, Counters totals) : recorded_s_(now_s), totals_(std::move(totals)) {}

  // Ends a row if a minute has passed, or if `always`. Counters of single entries are left out.
  void Record(std::int64_t now_s, const Counters& totals, bool always = false);

  // What was added after `begin_s`, and when that begins: rows that began earlier count as a whole.
  Row Since(std::int64_t begin_s, std::int64_t now_s, const Counters& totals) const;

  // The time from `begin_s` to `now_s` in `count` rows of one length, each with what rows ended in
  // it.
  std::vector<Row> Rows(std::int64_t begin_s, std::int64_t now_s, std::int64_t count,
                        const Counters& totals) const;

  std::string Encode() const;
  // Takes the rows of an encoded history for its past. DataLoss: it is damaged, or of another
  // version; nothing is taken.
  Status Decode(std::string_view bytes);

 private:
  void CloseLocked(std::int64_t now_s, const Counters& totals);
  void CoarsenLocked(std::int64_t now_s);

  mutable std::mutex mutex_;  // Guards what follows.
  std::deque<Row> hours_;
  std::deque<Row> minutes_;  // After those of hours_.
  std::int64_t recorded_s_;  // The end of the last row, or when this began.
  Counters totals_;          // At that moment.
};

}  // namespace stoker
