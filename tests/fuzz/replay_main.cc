// Runs a fuzz target without libFuzzer, as a test: every seed, every file of the folders named on
// the command line (inputs that once failed), and a fixed number of seeded mutations of all these.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate.h"

namespace {

constexpr int kMutations = 100000;
constexpr std::uint64_t kSeed = 1;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus = stoker::fuzz::Seeds();
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      corpus.push_back(ReadFile(entry.path()));
    }
  }
  for (const std::string& input : corpus) stoker::fuzz::TryInput(input);
  stoker::fuzz::Mutator mutator(corpus, kSeed);
  for (int i = 0; i < kMutations; ++i) stoker::fuzz::TryInput(mutator.Next());
  std::printf("%zu inputs and %d mutations\n", corpus.size(), kMutations);
}
