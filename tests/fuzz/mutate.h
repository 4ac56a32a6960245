// Small random damage to an input: the same sequence for the same seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stoker::fuzz {

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::uint64_t seed);

  // A corpus input with one to four edits: flipped bits, boundary bytes, cuts, repeated or foreign
  // slices.
  std::string Next();

 private:
  std::size_t Below(std::size_t limit);  // Uniform in [0, limit); 0 when limit is 0.
  void Edit(std::string* input);

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

}  // namespace stoker::fuzz
