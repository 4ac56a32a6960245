// A golden file: an input graph, and what stages of the compiler are expected to print for it.
//
//   # What it shows.
//   graph @name(...) {
//   ...
//   }
//   == stage
//   expected text
//   == other_stage
//   ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"

namespace stoker::golden {

struct Expectation {
  std::string stage;
  std::string text;
};

struct GoldenFile {
  std::string graph;  // The text before the first stage, comments included.
  std::vector<Expectation> expectations;
};

// Paths of all golden files of this repository, sorted.
std::vector<std::string> AllGoldenFiles();
Result<GoldenFile> ReadGoldenFile(const std::string& path);
std::string ToString(const GoldenFile& file);

}  // namespace stoker::golden
