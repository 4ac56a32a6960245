#include "protocol/wire/proto/proto_writer.h"

#include <bit>
#include <cstring>

#include "protocol/wire/proto/proto_format.h"

namespace stoker::wire {

void ProtoWriter::Varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
  out_.push_back(static_cast<char>(value));
}

void ProtoWriter::Tag(std::uint32_t field, std::uint32_t wire_type) {
  Varint(std::uint64_t{field} << kWireTypeBits | wire_type);
}

void ProtoWriter::UInt(std::uint32_t field, std::uint64_t value) {
  if (value == 0) return;
  Tag(field, kVarint);
  Varint(value);
}

void ProtoWriter::Int(std::uint32_t field, std::int64_t value) {
  UInt(field, static_cast<std::uint64_t>(value));
}

void ProtoWriter::PackedInts(std::uint32_t field, std::span<const std::int64_t> values) {
  if (values.empty()) return;
  Message(field, [&](ProtoWriter& packed) {
    for (const std::int64_t value : values) packed.Varint(static_cast<std::uint64_t>(value));
  });
}

void ProtoWriter::Double(std::uint32_t field, double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if (bits == 0) return;
  Tag(field, kFixed64);
  char bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  out_.append(bytes, sizeof bytes);
}

void ProtoWriter::Bytes(std::uint32_t field, std::string_view value) {
  if (!value.empty()) Element(field, value);
}

void ProtoWriter::Element(std::uint32_t field, std::string_view value) {
  Tag(field, kLengthPrefixed);
  Varint(value.size());
  out_.append(value);
}

std::size_t ProtoWriter::Open(std::uint32_t field) {
  Tag(field, kLengthPrefixed);
  return out_.size();
}

// The length is known only now; what was written makes room for it.
void ProtoWriter::Close(std::size_t begin) {
  const std::size_t end = out_.size();
  Varint(end - begin);
  const std::string length = out_.substr(end);
  out_.resize(end);
  out_.insert(begin, length);
}

}  // namespace stoker::wire
