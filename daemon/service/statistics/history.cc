#include "daemon/service/statistics/history.h"

#include <algorithm>
#include <utility>

#include "protocol/base/bytes.h"
#include "protocol/base/digest.h"

namespace stoker {
namespace {

constexpr std::string_view kMagic = "stokhis1";
// Of single entries: as many as there are entries.
constexpr std::string_view kOfEntries = "entry.";
constexpr std::size_t kMinRowBytes = 24;
constexpr std::size_t kMinCounterBytes = 16;

Counters Difference(const Counters& now, const Counters& before) {
  Counters added;
  for (const auto& [name, value] : now) {
    if (name.starts_with(kOfEntries)) continue;
    const auto it = before.find(name);
    const double delta = value - (it == before.end() ? 0 : it->second);
    if (delta == 0) continue;
    added.emplace_hint(added.end(), name, delta);
    if (added.size() == kMaxCountersOfARow) break;
  }
  return added;
}

void AddTo(Counters& sum, const Counters& more) {
  for (const auto& [name, value] : more) sum[name] += value;
}

void Encode(ByteWriter& out, const std::deque<History::Row>& rows) {
  out.U64(rows.size());
  for (const History::Row& row : rows) {
    out.I64(row.begin_s);
    out.I64(row.end_s);
    out.U64(row.added.size());
    for (const auto& [name, value] : row.added) {
      out.Bytes(name);
      out.F64(value);
    }
  }
}

Result<std::deque<History::Row>> DecodeRows(ByteReader& in) {
  STOKER_TRY(const std::uint64_t count, in.Count("rows", kMinRowBytes));
  std::deque<History::Row> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    History::Row& row = rows.emplace_back();
    STOKER_TRY(row.begin_s, in.I64("row.begin"));
    STOKER_TRY(row.end_s, in.I64("row.end"));
    STOKER_TRY(const std::uint64_t counters, in.Count("row.counters", kMinCounterBytes));
    for (std::uint64_t c = 0; c < counters; ++c) {
      STOKER_TRY(const std::string_view name, in.Bytes("counter.name", kMaxCounterNameBytes));
      STOKER_TRY(row.added[std::string(name)], in.F64("counter.value"));
    }
  }
  return rows;
}

// A clock that was set back: what happened did not happen later than now.
void EndBy(std::deque<History::Row>& rows, std::int64_t now_s) {
  for (auto row = rows.rbegin(); row != rows.rend() && row->end_s > now_s; ++row) {
    row->end_s = now_s;
    row->begin_s = std::min(row->begin_s, now_s);
  }
}

}  // namespace

void History::Record(std::int64_t now_s, const Counters& totals, bool always) {
  const std::lock_guard lock(mutex_);
  if (always || now_s < recorded_s_ || now_s - recorded_s_ >= kHistoryMinuteS) {
    CloseLocked(now_s, totals);
  }
}

void History::CloseLocked(std::int64_t now_s, const Counters& totals) {
  EndBy(hours_, now_s);
  EndBy(minutes_, now_s);
  Row row{std::min(recorded_s_, now_s), now_s, Difference(totals, totals_)};
  if (!row.added.empty()) minutes_.push_back(std::move(row));
  recorded_s_ = now_s;
  totals_ = totals;
  CoarsenLocked(now_s);
}

void History::CoarsenLocked(std::int64_t now_s) {
  while (!minutes_.empty() && minutes_.front().end_s <= now_s - kHistoryFineS) {
    Row row = std::move(minutes_.front());
    minutes_.pop_front();
    if (!hours_.empty() && hours_.back().begin_s / kHistoryHourS == row.begin_s / kHistoryHourS) {
      hours_.back().end_s = std::max(hours_.back().end_s, row.end_s);
      AddTo(hours_.back().added, row.added);
    } else {
      hours_.push_back(std::move(row));
    }
  }
  while (!hours_.empty() && hours_.front().end_s <= now_s - kHistoryLongestS) hours_.pop_front();
}

History::Row History::Since(std::int64_t begin_s, std::int64_t now_s,
                            const Counters& totals) const {
  const std::lock_guard lock(mutex_);
  Row sum{std::min(begin_s, now_s), now_s, Difference(totals, totals_)};
  for (const auto* rows : {&hours_, &minutes_}) {
    for (const Row& row : *rows) {
      if (row.end_s <= begin_s) continue;
      sum.begin_s = std::min(sum.begin_s, row.begin_s);
      AddTo(sum.added, row.added);
    }
  }
  return sum;
}

std::vector<History::Row> History::Rows(std::int64_t begin_s, std::int64_t now_s,
                                        std::int64_t count, const Counters& totals) const {
  const std::int64_t span_s = std::max<std::int64_t>(now_s - begin_s, 1);
  std::vector<Row> result(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    result[static_cast<std::size_t>(i)] = {
        begin_s + span_s * i / count, begin_s + span_s * (i + 1) / count, {}};
  }
  const auto add = [&](std::int64_t end_s, const Counters& added) {
    if (end_s <= begin_s) return;
    const std::int64_t place = (std::min(end_s, now_s) - begin_s - 1) * count / span_s;
    AddTo(result[static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, count - 1))].added,
          added);
  };
  const std::lock_guard lock(mutex_);
  for (const auto* rows : {&hours_, &minutes_}) {
    for (const Row& row : *rows) add(row.end_s, row.added);
  }
  add(now_s, Difference(totals, totals_));
  return result;
}

std::string History::Encode() const {
  ByteWriter rows;
  {
    const std::lock_guard lock(mutex_);
    stoker::Encode(rows, hours_);
    stoker::Encode(rows, minutes_);
  }
  ByteWriter out;
  out.Raw(kMagic);
  out.Raw(Sha256Of(rows.str()).AsBytes());
  out.Raw(rows.str());
  return std::move(out).Take();
}

Status History::Decode(std::string_view bytes) {
  ByteReader in(bytes);
  STOKER_TRY(const std::string_view magic, in.Raw("magic", kMagic.size()));
  if (magic != kMagic) return DataLoss("The history is of another version.");
  STOKER_TRY(const std::string_view digest, in.Raw("digest", Digest::kSize));
  if (digest != Sha256Of(bytes.substr(kMagic.size() + Digest::kSize)).AsBytes()) {
    return DataLoss("The history is damaged.");
  }
  STOKER_TRY(auto hours, DecodeRows(in));
  STOKER_TRY(auto minutes, DecodeRows(in));
  STOKER_RETURN_IF_ERROR(in.ExpectEnd());
  const std::lock_guard lock(mutex_);
  hours_ = std::move(hours);
  minutes_ = std::move(minutes);
  return Ok();
}

}  // namespace stoker
