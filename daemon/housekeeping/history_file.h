// HistoryFile: the history of a daemon's counters, kept beside its cache from one run to the next.
#pragma once

#include <string>

#include "daemon/service/statistics/history.h"
#include "daemon/service/statistics/statistics.h"

namespace stoker {

class HistoryFile {
 public:
  // Reads what is there. A file that cannot be read is no reason not to serve: it is said in the
  // log, and history begins anew.
  HistoryFile(std::string path, const Statistics& statistics);

  const History& history() const { return history_; }
  // Call it often; it does something once a minute, or at the end of the process.
  void Record(bool is_end = false);
  // Replaces the file. May block on I/O.
  Status Write() const;

 private:
  const std::string path_;
  const Statistics& statistics_;
  History history_;
};

}  // namespace stoker
