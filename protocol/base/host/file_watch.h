// FileWatch: when files that were read are to be read again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/base/host/trusted_file.h"

namespace stoker {

// Not for several threads at once.
class FileWatch {
 public:
  explicit FileWatch(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // Whether the files are others than when this, or what follows, was true last. At first they are.
  bool Changed();
  // The same once they are what they were at the last look: whoever writes them has finished.
  bool ChangedAndSettled();

 private:
  using Versions = std::vector<FileVersion>;

  Versions Look() const;

  std::vector<std::string> paths_;
  std::optional<Versions> seen_;  // At the last look.
  std::optional<Versions> taken_;
};

}  // namespace stoker
