#include "protocol/wire/framing.h"

#include <cstdint>

namespace stoker::wire {

void AppendFrame(std::string_view payload, std::string* out) {
  STOKER_CHECK(payload.size() <= kMaxMessageBytes);
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (int shift = 0; shift < 32; shift += 8) {
    out->push_back(static_cast<char>((size >> shift) & 0xffU));
  }
  out->append(payload);
}

Result<std::size_t> FrameLength(std::string_view header, std::size_t limit) {
  STOKER_CHECK(header.size() == kFrameHeaderBytes);
  std::size_t size = 0;
  for (std::size_t i = kFrameHeaderBytes; i-- > 0;) {
    size = (size << 8) | static_cast<std::uint8_t>(header[i]);
  }
  if (size > limit) {
    return ResourceExhausted("Field 'frame.length' is " + std::to_string(size) +
                             " bytes, more than the limit of " + std::to_string(limit) + ".");
  }
  return size;
}

Result<std::optional<std::string>> FrameReader::Next() {
  const std::string_view rest = std::string_view(buffer_).substr(position_);
  if (rest.size() < kFrameHeaderBytes) return std::optional<std::string>();
  STOKER_TRY(const std::size_t size, FrameLength(rest.substr(0, kFrameHeaderBytes), limit_));
  if (rest.size() - kFrameHeaderBytes < size) return std::optional<std::string>();
  std::optional<std::string> payload(rest.substr(kFrameHeaderBytes, size));
  position_ += kFrameHeaderBytes + size;
  if (position_ == buffer_.size()) {
    buffer_.clear();
    position_ = 0;
  }
  return payload;
}

}  // namespace stoker::wire
