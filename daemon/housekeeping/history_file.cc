#include "daemon/housekeeping/history_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "cache/clock.h"
#include "daemon/log/log.h"
#include "protocol/base/host/file_descriptor.h"

namespace stoker {
namespace {

std::int64_t NowSeconds() { return SystemUnixNanos() / kNanosPerSecond; }

Status WriteFails(const std::string& path) {
  return Unavailable("History '" + path +
                     "' cannot be written: " + std::generic_category().message(errno) + ".");
}

}  // namespace

HistoryFile::HistoryFile(std::string path, const Statistics& statistics)
    : path_(std::move(path)), statistics_(statistics), history_(NowSeconds(), statistics.Totals()) {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (const Status status = history_.Decode(bytes); !status.ok()) {
    LogWarning("history '{}' begins anew: {}", path_, status.error().message);
  }
}

void HistoryFile::Record(bool is_end) {
  history_.Record(NowSeconds(), statistics_.Totals(), is_end);
}

Status HistoryFile::Write() const {
  const std::string unfinished = path_ + ".new";
  {
    const FileDescriptor file(
        open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || !WriteAll(file.get(), history_.Encode())) return WriteFails(unfinished);
  }
  if (std::rename(unfinished.c_str(), path_.c_str()) != 0) return WriteFails(path_);
  return Ok();
}

}  // namespace stoker
