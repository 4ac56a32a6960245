// Canonical byte encoding: little-endian fixed-width integers, length-prefixed byte strings.
// A ByteReader never reads past its input; every failure names the field that was being read.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

class ByteWriter {
 public:
  void U8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void U32(std::uint32_t v) { Fixed(v); }
  void U64(std::uint64_t v) { Fixed(v); }
  void I64(std::int64_t v) { Fixed(static_cast<std::uint64_t>(v)); }
  void F64(double v) { Fixed(std::bit_cast<std::uint64_t>(v)); }
  void Bytes(std::string_view v) {  // U64 length, then the bytes.
    U64(v.size());
    out_.append(v);
  }
  void Raw(std::string_view v) { out_.append(v); }

  const std::string& str() const { return out_; }
  std::string Take() && { return std::move(out_); }

 private:
  template <typename T>
  void Fixed(T v) {
    char buffer[sizeof v];
    std::memcpy(buffer, &v, sizeof v);
    out_.append(buffer, sizeof v);
  }
  static_assert(std::endian::native == std::endian::little);

  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view input) : input_(input) {}

  Result<std::uint8_t> U8(std::string_view field) { return Fixed<std::uint8_t>(field); }
  Result<std::uint32_t> U32(std::string_view field) { return Fixed<std::uint32_t>(field); }
  Result<std::uint64_t> U64(std::string_view field) { return Fixed<std::uint64_t>(field); }
  Result<std::int64_t> I64(std::string_view field) { return Fixed<std::int64_t>(field); }
  Result<double> F64(std::string_view field) { return Fixed<double>(field); }
  // A view into the input, at most `limit` bytes long.
  Result<std::string_view> Bytes(std::string_view field, std::uint64_t limit);
  Result<std::string_view> Raw(std::string_view field, std::size_t size);
  // A U64 that counts elements of at least `min_element_bytes` each: bounded by what is left, so
  // that a damaged count cannot ask for memory the input does not justify.
  Result<std::uint64_t> Count(std::string_view field, std::size_t min_element_bytes);

  bool AtEnd() const { return position_ == input_.size(); }
  std::size_t remaining() const { return input_.size() - position_; }
  // An error unless every byte was read.
  Status ExpectEnd() const;

 private:
  template <typename T>
  Result<T> Fixed(std::string_view field) {
    if (remaining() < sizeof(T)) return Truncated(field, sizeof(T));
    T v;
    std::memcpy(&v, input_.data() + position_, sizeof v);
    position_ += sizeof v;
    return v;
  }
  Error Truncated(std::string_view field, std::uint64_t wanted) const;

  std::string_view input_;
  std::size_t position_ = 0;
};

}  // namespace stoker
