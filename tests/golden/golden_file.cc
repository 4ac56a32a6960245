#include "tests/golden/golden_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace stoker::golden {
namespace {

constexpr std::string_view kMark = "== ";

Result<GoldenFile> Parse(std::string_view text) {
  GoldenFile file;
  std::string* part = &file.graph;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (!line.ends_with('\n')) return InvalidArgument("The last line has no end.");
    if (!line.starts_with(kMark)) {
      *part += line;
      continue;
    }
    const std::string_view stage = line.substr(kMark.size(), line.size() - kMark.size() - 1);
    part = &file.expectations.emplace_back(Expectation{std::string(stage), ""}).text;
  }
  if (!file.graph.starts_with("# ")) {
    return InvalidArgument("It does not begin with a comment that says what it shows.");
  }
  if (file.expectations.empty()) return InvalidArgument("It names no stage.");
  return file;
}

}  // namespace

std::vector<std::string> AllGoldenFiles() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(STOKER_GOLDEN_FOLDER)) {
    if (entry.path().extension() == ".txt" && entry.path().parent_path() != STOKER_GOLDEN_FOLDER) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<GoldenFile> ReadGoldenFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return NotFound(path + ": cannot be read.");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  Result<GoldenFile> file = Parse(text);
  if (!file.ok()) return file.error().WithContext(path);
  return file;
}

std::string ToString(const GoldenFile& file) {
  std::string text = file.graph;
  for (const Expectation& expectation : file.expectations) {
    text += std::string(kMark) + expectation.stage + "\n" + expectation.text;
  }
  return text;
}

}  // namespace stoker::golden
