// Splitting a byte stream into frames: fed at once and in pieces, the frames are the same, and no
// frame is longer than the limit.
#include <algorithm>

#include "protocol/base/check.h"
#include "protocol/wire/framing.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

constexpr std::size_t kFrameLimit = 64;

struct Outcome {
  std::vector<std::string> frames;
  bool failed = false;
  bool at_boundary = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Split(std::string_view bytes, std::size_t piece) {
  wire::FrameReader reader(kFrameLimit);
  Outcome outcome;
  while (!bytes.empty() && !outcome.failed) {
    reader.Feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      Result<std::optional<std::string>> frame = reader.Next();
      outcome.failed = !frame.ok();
      if (!frame.ok() || !frame->has_value()) break;
      STOKER_CHECK((*frame)->size() <= kFrameLimit);
      outcome.frames.push_back(**frame);
    }
  }
  outcome.at_boundary = !outcome.failed && reader.AtBoundary();
  return outcome;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::string stream;
  for (const std::size_t size : {0U, 1U, 5U, 64U}) {
    wire::AppendFrame(std::string(size, 'x'), &stream);
  }
  return {stream, stream.substr(0, stream.size() - 1), std::string("\xff\xff\xff\xff", 4)};
}

void TryInput(std::string_view bytes) {
  const Outcome whole = Split(bytes, std::max<std::size_t>(bytes.size(), 1));
  STOKER_CHECK(Split(bytes, 1) == whole);
  STOKER_CHECK(Split(bytes, 3) == whole);
}

}  // namespace stoker::fuzz
