#include "protocol/base/host/file_watch.h"

#include <utility>

namespace stoker {

FileWatch::Versions FileWatch::Look() const {
  Versions versions;
  for (const std::string& path : paths_) versions.push_back(VersionOf(path));
  return versions;
}

bool FileWatch::Changed() {
  seen_ = Look();
  if (seen_ == taken_) return false;
  taken_ = seen_;
  return true;
}

bool FileWatch::ChangedAndSettled() {
  const std::optional<Versions> before = std::exchange(seen_, Look());
  if (seen_ != before || seen_ == taken_) return false;
  taken_ = seen_;
  return true;
}

}  // namespace stoker
