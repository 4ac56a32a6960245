#include "daemon/net/http/uploads.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace stoker::net {
namespace {

constexpr std::size_t kRandomBytes = 16;

// Nothing: the kernel gives no random bytes.
std::optional<std::string> MakePath() {
  std::array<unsigned char, kRandomBytes> random;
  if (getentropy(random.data(), random.size()) != 0) return std::nullopt;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string path(Uploads::kFolder);
  for (const unsigned char byte : random) {
    path += kDigits[byte >> 4];
    path += kDigits[byte & 15];
  }
  return path;
}

}  // namespace

Uploads::Turn::Turn(Turn&& other) noexcept
    : uploads_(std::exchange(other.uploads_, nullptr)), path_(std::move(other.path_)) {}

Uploads::Turn::~Turn() {
  if (uploads_ == nullptr) return;
  const std::lock_guard lock(uploads_->mutex_);
  uploads_->uploads_.erase(path_);
}

void Uploads::Turn::Keep(Part part) {
  Uploads& all = *std::exchange(uploads_, nullptr);
  const ServerLimits& limits = all.limits_;
  std::vector<Table::node_type> dropped;
  const std::lock_guard lock(all.mutex_);
  const auto place = all.uploads_.find(path_);
  if (place == all.uploads_.end()) return;
  Upload& upload = place->second;
  const auto now = Clock::now();
  // All of its connections together are not slower than one may be.
  const auto slowest = limits.upload_timeout +
                       std::chrono::milliseconds(1000 * part.have / limits.min_body_bytes_per_s);
  upload.end = std::min(now + limits.upload_timeout, upload.start + slowest);
  const std::size_t bytes = part.request.body.size();
  if (upload.end <= now || bytes > limits.max_kept_bytes) {
    dropped.push_back(all.Extract(place));
    return;
  }
  while (all.kept_.bytes + bytes > limits.max_kept_bytes) {
    dropped.push_back(all.Extract(all.OldestKept()));
  }
  upload.is_wanted = false;
  upload.part.emplace(std::move(part));
  ++all.kept_.count;
  all.kept_.bytes += bytes;
}

bool Uploads::Turn::Finish() {
  Uploads& all = *std::exchange(uploads_, nullptr);
  const std::lock_guard lock(all.mutex_);
  return all.uploads_.erase(path_) > 0;
}

bool Uploads::Turn::IsOver() const {
  if (uploads_ == nullptr) return false;
  const std::lock_guard lock(uploads_->mutex_);
  const auto place = uploads_->uploads_.find(path_);
  return place == uploads_->uploads_.end() || place->second.is_wanted;
}

std::optional<Uploads::Turn> Uploads::Begin(const HttpRequest& header, std::uint64_t size) {
  auto path = MakePath();
  if (!path) return std::nullopt;
  Table::node_type dropped;
  const std::lock_guard lock(mutex_);
  if (uploads_.size() >= limits_.max_uploads) {
    if (kept_.count == 0) return std::nullopt;
    dropped = Extract(OldestKept());
  }
  uploads_.emplace(*path, Upload{.authorization = header.authorization,
                                 .peer = header.peer,
                                 .size = size,
                                 .start = Clock::now(),
                                 .part = {},
                                 .end = {}});
  return Turn(*this, *std::move(path));
}

Uploads::Found Uploads::Find(const HttpRequest& who) {
  const std::lock_guard lock(mutex_);
  const auto place = Search(who);
  if (place == uploads_.end()) return {};
  Upload& upload = place->second;
  if (upload.part) return {State::kKept, upload.part->have, upload.size};
  upload.is_wanted = true;
  return {.state = State::kBrought};
}

std::optional<Uploads::Taken> Uploads::Take(const HttpRequest& who) {
  const std::lock_guard lock(mutex_);
  const auto place = Search(who);
  if (place == uploads_.end() || !place->second.part) return std::nullopt;
  Upload& upload = place->second;
  --kept_.count;
  kept_.bytes -= upload.part->request.body.size();
  Taken taken{*std::move(upload.part), Turn(*this, place->first)};
  upload.part.reset();
  return taken;
}

bool Uploads::Cancel(const HttpRequest& who) {
  Table::node_type dropped;
  const std::lock_guard lock(mutex_);
  const auto place = Search(who);
  if (place == uploads_.end()) return false;
  dropped = Extract(place);
  return true;
}

void Uploads::Expire(Clock::time_point now) {
  std::vector<Table::node_type> dropped;
  const std::lock_guard lock(mutex_);
  if (kept_.count == 0) return;
  for (auto place = uploads_.begin(); place != uploads_.end();) {
    const auto each = place++;
    if (each->second.part && each->second.end <= now) dropped.push_back(Extract(each));
  }
}

KeptUploads Uploads::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

Uploads::Table::iterator Uploads::Search(const HttpRequest& who) {
  const auto place = uploads_.find(who.path);
  if (place == uploads_.end()) return place;
  const Upload& upload = place->second;
  const bool is_theirs = upload.authorization == who.authorization && upload.peer == who.peer;
  return is_theirs ? place : uploads_.end();
}

Uploads::Table::node_type Uploads::Extract(Table::iterator place) {
  if (place->second.part) {
    --kept_.count;
    kept_.bytes -= place->second.part->request.body.size();
  }
  return uploads_.extract(place);
}

Uploads::Table::iterator Uploads::OldestKept() {
  return std::min_element(uploads_.begin(), uploads_.end(), [](const auto& a, const auto& b) {
    const bool a_kept = a.second.part.has_value();
    return a_kept == b.second.part.has_value() ? a.second.end < b.second.end : a_kept;
  });
}

}  // namespace stoker::net
