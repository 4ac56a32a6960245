// same_bytes_test: compiles the graph of each golden file in two processes, which differ in the
// number of threads, in where memory lies and in what fresh memory holds, and checks that
// artifacts, kernels and constants are the same bytes.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "tests/golden/golden_file.h"
#include "tests/unit/compiler/codegen/x86_targets.h"

namespace stoker::golden {
namespace {

// The digest of all that compiling a file's graph for every target gives.
Result<std::string> DigestOf(const std::string& path, int threads) {
  STOKER_TRY(const GoldenFile file, ReadGoldenFile(path));
  STOKER_TRY(const Graph graph, ParseGraph(file.graph));
  CompileHooks hooks;
  hooks.threads = threads;
  std::string bytes;
  for (const Target& target : X86Targets()) {
    STOKER_TRY(const CompileOutput output, Compile({graph, target, {}, CompilerEpoch()}, hooks));
    bytes += EncodeArtifact(output.artifact);
    for (const CompiledKernel& kernel : output.kernels) bytes += kernel.elf;
    for (const std::string& constant : output.constants) bytes += constant;
    for (std::size_t i = 0; i < output.kernels.size(); ++i) ReportKernel(target, Execution::kNone);
  }
  return Sha256Of(bytes).ToHex();
}

int PrintDigests(int threads) {
  for (const std::string& path : AllGoldenFiles()) {
    const auto digest = DigestOf(path, threads);
    if (!digest.ok()) {
      std::fprintf(stderr, "%s\n", digest.error().message.c_str());
      return 1;
    }
    std::printf("%s %s\n", digest->c_str(), path.c_str());
  }
  return 0;
}

// What a command prints; empty when it fails.
std::string OutputOf(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), size);
  }
  return pclose(pipe) == 0 ? output : "";
}

int Compare(const std::string& program) {
  const std::string one = OutputOf("MALLOC_PERTURB_=85 LONGER=environment " + program + " 1");
  const std::string other = OutputOf("MALLOC_PERTURB_=170 " + program + " 3");
  std::istringstream one_lines(one);
  std::istringstream other_lines(other);
  std::size_t same = 0;
  for (std::string x, y; std::getline(one_lines, x) && std::getline(other_lines, y);) {
    if (x == y) {
      ++same;
    } else {
      std::fprintf(stderr, "One process gives\n  %s\nthe other\n  %s\n", x.c_str(), y.c_str());
    }
  }
  const std::size_t count = AllGoldenFiles().size();
  std::printf("%zu of %zu are the same.\n", same, count);
  return count > 0 && same == count ? 0 : 1;
}

}  // namespace
}  // namespace stoker::golden

// With a number of threads as its argument: prints the digests.
int main(int argc, char** argv) {
  return argc > 1 ? stoker::golden::PrintDigests(std::atoi(argv[1]))
                  : stoker::golden::Compare(argv[0]);
}
