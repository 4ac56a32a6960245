// Frames: a message preceded by its length as 4 bytes little-endian. Used in the event stream of
// /v1/compile and between daemon and compile worker.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/result.h"
#include "protocol/wire/limits.h"

namespace stoker::wire {

inline constexpr std::size_t kFrameHeaderBytes = 4;

// Appends one frame. The payload must not be longer than kMaxMessageBytes.
void AppendFrame(std::string_view payload, std::string* out);

// The payload length that a header of kFrameHeaderBytes announces, for a reader that takes exactly
// what it needs from a socket. ResourceExhausted beyond `limit`.
Result<std::size_t> FrameLength(std::string_view header, std::size_t limit = kMaxMessageBytes);

// Splits a byte stream, fed in pieces of any size, into payloads.
class FrameReader {
 public:
  explicit FrameReader(std::size_t limit = kMaxMessageBytes) : limit_(limit) {}

  void Feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole payload; nullopt when more bytes are needed; an error when the announced length
  // is beyond the limit, after which the stream cannot be read further.
  Result<std::optional<std::string>> Next();
  // True when the stream may end here: no partial frame is left.
  bool AtBoundary() const { return position_ == buffer_.size(); }

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t position_ = 0;  // Bytes of buffer_ that were handed out.
};

}  // namespace stoker::wire
