#include "tests/fuzz/mutate.h"

#include <utility>

#include "protocol/base/check.h"

namespace stoker::fuzz {

Mutator::Mutator(std::vector<std::string> corpus, std::uint64_t seed)
    : corpus_(std::move(corpus)), random_(seed) {
  STOKER_CHECK(!corpus_.empty());
}

std::size_t Mutator::Below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

std::string Mutator::Next() {
  std::string input = corpus_[Below(corpus_.size())];
  for (std::size_t edits = 1 + Below(4); edits != 0; --edits) Edit(&input);
  return input;
}

void Mutator::Edit(std::string* input) {
  constexpr unsigned char kBoundaries[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '0',
                                           '9',  ' ',  ',',  '(',  ']'};
  const std::size_t at = Below(input->size());
  switch (Below(6)) {
    case 0:
      if (!input->empty()) (*input)[at] ^= static_cast<char>(1U << Below(8));
      break;
    case 1:
      if (!input->empty()) {
        (*input)[at] = static_cast<char>(kBoundaries[Below(std::size(kBoundaries))]);
      }
      break;
    case 2:
      input->resize(at);
      break;
    case 3:
      input->erase(at, 1 + Below(8));
      break;
    case 4:
      input->insert(at, input->substr(Below(input->size()), 1 + Below(16)));
      break;
    default: {
      const std::string& foreign = corpus_[Below(corpus_.size())];
      if (!foreign.empty()) input->insert(at, foreign.substr(Below(foreign.size()), 1 + Below(32)));
      break;
    }
  }
}

}  // namespace stoker::fuzz
