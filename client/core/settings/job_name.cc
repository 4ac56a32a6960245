#include "client/core/settings/job_name.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "client/core/settings/environment.h"
#include "protocol/wire/header/job_name.h"

namespace stoker {
namespace {

constexpr std::string_view kUnknown = "unknown";
// Enough for the words that name a program.
constexpr std::size_t kMaxCommandLineBytes = 4096;

std::string_view FileName(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(kMaxCommandLineBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

}  // namespace

std::string ProgramIn(std::string_view command_line) {
  std::vector<std::string_view> words;
  while (!command_line.empty()) {
    const std::size_t end = std::min(command_line.find('\0'), command_line.size());
    words.push_back(command_line.substr(0, end));
    command_line.remove_prefix(std::min(command_line.size(), end + 1));
  }
  if (words.empty()) return "";
  const std::string_view program = FileName(words[0]);
  if (!program.starts_with("python")) return std::string(program);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) return std::string(words[i + 1]);
    if (words[i] == "-c") break;
    if (words[i] == "-X" || words[i] == "-W") {
      ++i;  // The next word is theirs.
    } else if (!words[i].starts_with('-')) {
      return std::string(FileName(words[i]));
    }
  }
  return std::string(program);
}

std::string JobName() {
  std::string name = wire::JobNameOf(Environment("STOKER_JOB"));
  if (name.empty()) name = wire::JobNameOf(ProgramIn(CommandLine()));
  return name.empty() ? std::string(kUnknown) : name;
}

}  // namespace stoker
