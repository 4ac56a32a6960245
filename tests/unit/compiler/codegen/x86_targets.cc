#include "tests/unit/compiler/codegen/x86_targets.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <ostream>

#include "protocol/base/check.h"

namespace stoker {
namespace {

constexpr const char* kTargets[] = {
    "cpu/x86-64-v3",  // AVX2, FMA, F16C.
    "cpu/x86-64-v4",  // AVX-512.
    "cpu/x86-64-v4+avx512_bf16",
    "cpu/x86-64-v4+avx512_bf16+avx512_fp16",
    "cpu/x86-64-v4+amx_bf16+avx512_bf16",
};

const Target& Host() {
  static const Target host = Target::Host().value();
  return host;
}

Target WithoutTiles(const Target& target) {
  std::string text = "cpu/" + target.arch();
  for (const std::string& feature : target.features()) {
    if (!feature.starts_with("amx_")) text += "+" + feature;
  }
  return Target::Parse(text).value();
}

// Written at the end of the process.
class Report {
 public:
  ~Report() {
    const char* path = std::getenv("STOKER_TARGETS_REPORT");
    if (path == nullptr) return;
    std::string text;
    for (const auto& [target, count] : counts_) {
      text += target + " " + std::to_string(count.compiled) + " " + std::to_string(count.run) +
              " " + std::to_string(count.emulated) + "\n";
    }
    // Processes write at the same time: one write each, to the end.
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    STOKER_CHECK(file >= 0 &&
                 write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    close(file);
  }

  void Add(const Target& target, Execution execution) {
    const std::lock_guard lock(mutex_);
    Count& count = counts_[target.ToString()];
    ++count.compiled;
    if (execution != Execution::kNone) ++count.run;
    if (execution == Execution::kEmulated) ++count.emulated;
  }

 private:
  struct Count {
    int compiled = 0;
    int run = 0;
    int emulated = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Count> counts_;
};

}  // namespace

const std::vector<Target>& X86Targets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> all;
    for (const char* text : kTargets) all.push_back(Target::Parse(text).value());
    if (std::find(all.begin(), all.end(), Host()) == all.end()) all.push_back(Host());
    return all;
  }();
  return targets;
}

Execution ExecutionOf(const Target& target) {
  const Target rest = WithoutTiles(target);
  if (!rest.CheckRunsOn(Host()).ok()) return Execution::kNone;
  if (rest == target) return Execution::kNative;
  const bool emulate = std::getenv("STOKER_EMULATE_TILES") != nullptr;
  return emulate || !target.CheckRunsOn(Host()).ok() ? Execution::kEmulated : Execution::kNative;
}

void ReportKernel(const Target& target, Execution execution) {
  static Report report;
  report.Add(target, execution);
}

std::string TestNameOf(const Target& target) {
  std::string name = target.ToString();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

void PrintTo(const Target& target, std::ostream* out) { *out << target.ToString(); }

}  // namespace stoker
