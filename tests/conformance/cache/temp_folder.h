// A fresh folder that goes away with the object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "protocol/base/check.h"

namespace stoker {

class TempFolder {
 public:
  TempFolder() : path_(std::filesystem::temp_directory_path() / "stoker-cache-XXXXXX") {
    STOKER_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stoker
