// record: runs a job that writes down what it asks for.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands/commands.h"

namespace stoker::cli {
namespace {

constexpr const char* kDefaultOutput = "stoker.manifest";

// What cannot be recorded into is said now, while nothing has run.
void RequireManifest(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    throw Error(STOKER_UNAVAILABLE, "'" + path + "' cannot be written: " + std::strerror(errno));
  }
  close(file);
  char* text = nullptr;
  detail::Check(stoker_manifest_describe(path.c_str(), &text));
  stoker_text_free(text);
}

// Becomes the job: signals, exit status and standard streams are its own.
int RunRecord(const std::string& output, const std::string& url,
              const std::vector<std::string>& words) {
  const std::string path = std::filesystem::absolute(output).string();
  RequireManifest(path);
  setenv("STOKER_RECORD", path.c_str(), 1);
  if (!url.empty()) setenv("STOKER_URL", url.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw Error(STOKER_NOT_FOUND, "'" + words[0] + "' does not start: " + std::strerror(errno));
}

}  // namespace

void AddRecord(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "record", "Runs a job and writes down what it asks for, for 'stoker warm'");
  auto output = std::make_shared<std::string>(kDefaultOutput);
  auto words = std::make_shared<std::vector<std::string>>();
  sub->add_option("-o,--output", *output,
                  "The manifest, to which the job's requests are added (default: stoker.manifest)");
  sub->add_option("command", *words, "The job: -- python train.py ...");
  sub->positionals_at_end();
  sub->callback([&app, &command, output, words] {
    if (words->empty()) throw CLI::RequiredError("The job (-- python train.py ...)");
    command = [&app, output, words](Client&) {
      return RunRecord(*output, app.get_option("--url")->as<std::string>(), *words);
    };
  });
}

}  // namespace stoker::cli
