// Writes messages in the protobuf wire format (proto3): a field that has its default value is left
// out, fields come in the order of the calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/digest.h"

namespace stoker::wire {

class ProtoWriter {
 public:
  void UInt(std::uint32_t field, std::uint64_t value);  // uint32, uint64, bool
  void Int(std::uint32_t field, std::int64_t value);    // int32, int64
  void Double(std::uint32_t field, double value);
  void Bytes(std::uint32_t field, std::string_view value);  // bytes, string
  // An element of a repeated bytes or string field: written even when it is empty.
  void Element(std::uint32_t field, std::string_view value);
  // A repeated int64 field, packed.
  void PackedInts(std::uint32_t field, std::span<const std::int64_t> values);

  // A nested message, whose fields `write(*this)` writes; present even when it is empty.
  template <typename Write>
  void Message(std::uint32_t field, Write write) {
    const std::size_t begin = Open(field);
    write(*this);
    Close(begin);
  }

  std::string Take() && { return std::move(out_); }

 private:
  void Tag(std::uint32_t field, std::uint32_t wire_type);
  void Varint(std::uint64_t value);
  std::size_t Open(std::uint32_t field);
  void Close(std::size_t begin);

  std::string out_;
};

inline void WriteDigest(ProtoWriter& out, std::uint32_t field, const Digest& digest) {
  out.Bytes(field, digest.AsBytes());
}

}  // namespace stoker::wire
