// The daemon's configuration: each line of an input is an argument; those of the form NAME=VALUE
// are variables. What is accepted prints as a configuration that is the same.
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "daemon/config/config.h"
#include "protocol/base/check.h"
#include "protocol/base/host/file_descriptor.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

constexpr std::string_view kFileMark = "\n--\n";  // What follows is the configuration file.

// A file without a place, whose text it is.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : file_(memfd_create("configuration", MFD_CLOEXEC)) {
    STOKER_CHECK(static_cast<bool>(file_) && WriteAll(file_.get(), text));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  FileDescriptor file_;
};

Result<CommandLine> Parse(std::string_view lines, std::string_view file_text) {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> variables = {{"HOME", "/nowhere"}};
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (!line.starts_with('-') && equals != std::string_view::npos) {
      variables[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    } else {
      arguments.emplace_back(line);
    }
  }
  const MemoryFile file(file_text);
  // Of another file nothing is known; nobody's is to be read here.
  std::erase_if(arguments, [](const std::string& a) { return a.starts_with("--config"); });
  variables.erase("STOKER_CONFIG");
  if (!file_text.empty()) arguments.insert(arguments.begin(), "--config=" + file.path());
  return ParseCommandLine(arguments, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "--listen=unix:/tmp/a.sock\n--listen\nhttp://127.0.0.1:8471\n--workers=3",
      "STOKER_WORKERS=2\nSTOKER_LISTEN=unix:/a http://[::1]:1\n--log-level=debug\n--check-config",
      "--cache-dir=/tmp/c\n--\nlisten = [\"unix:/tmp/b\"]\nmax_cache_bytes = 1073741824\n"
      "other_users = \"read,write\"\nsocket_mode = \"0660\"\n",
      "--cache-dir=/tmp/c\n--\nlog_file = 'a\"b\\c'\nqueue_limit = 7\n"};
}

void TryInput(std::string_view bytes) {
  const std::size_t mark = bytes.find(kFileMark);
  const std::string_view file =
      mark == std::string_view::npos ? "" : bytes.substr(mark + kFileMark.size());
  const auto command = Parse(bytes.substr(0, mark), file);
  if (!command.ok()) {
    STOKER_CHECK(!command.error().message.empty());
    return;
  }
  if (command->mode != Mode::kServe && command->mode != Mode::kCheckConfig) return;
  const std::string text = command->config.ToString();
  const auto again = Parse("", text);
  STOKER_CHECK(again.ok());
  STOKER_CHECK(again->config.ToString() == text);
}

}  // namespace stoker::fuzz
