// Runs a fuzz target without libFuzzer, as a test: every seed, every file of the folders named on
// the command line (inputs that once failed), and a fixed number of seeded mutations of all these.
#include <csignal>
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

std::string_view current;  // Input.

// So that it can become a file of the corpus: printf '...' > corpus/TARGET/NAME.
void PrintInput(int /*signal*/) {
  std::fputs("The input is: printf '", stderr);
  for (const char c : current) {
    const bool is_plain = c >= ' ' && c < 0x7F && c != '\'' && c != '\\' && c != '%';
    if (is_plain) {
      std::fputc(c, stderr);
    } else {
      std::fprintf(stderr, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  std::fputs("'\n", stderr);
}

void TryOne(std::string_view input) {
  current = input;
  stoker::fuzz::TryInput(input);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus = stoker::fuzz::Seeds();
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      corpus.push_back(ReadFile(entry.path()));
    }
  }
  for (const int number : {SIGABRT, SIGSEGV}) std::signal(number, PrintInput);
  for (const std::string& input : corpus) TryOne(input);
  stoker::fuzz::Mutator mutator(corpus, kSeed);
  for (int i = 0; i < kMutations; ++i) {
    const std::string input = mutator.Next();
    TryOne(input);
  }
  std::printf("%zu inputs and %d mutations\n", corpus.size(), kMutations);
}
