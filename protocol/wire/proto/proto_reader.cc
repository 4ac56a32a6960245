#include "protocol/wire/proto/proto_reader.h"

#include <bit>
#include <cstring>
#include <limits>

#include "protocol/wire/proto/proto_format.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker::wire {
namespace {

Error Wrong(std::string_view field, const std::string& why) {
  return InvalidArgument("Field '" + std::string(field) + "' " + why);
}

Error DoesNotFit(std::string_view field, const std::string& value) {
  return Wrong(field, "is " + value + ", which does not fit 32 bits.");
}

}  // namespace

Error ProtoReader::Malformed(std::string_view what) const {
  return Wrong(name_, "is no well-formed message: " + std::string(what) + " at offset " +
                          std::to_string(position_) + " of " + std::to_string(bytes_.size()) + ".");
}

Result<std::uint64_t> ProtoReader::Varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (AtEnd()) return Malformed("a number is cut off");
    const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
    const std::uint64_t bits = byte & 0x7fU;
    if (shift == 63 && bits > 1) break;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return Malformed("a number is longer than 64 bits");
}

Result<std::string_view> ProtoReader::Take(std::uint64_t size) {
  if (size > bytes_.size() - position_) return Malformed("a value is cut off");
  const std::string_view taken = bytes_.substr(position_, size);
  position_ += size;
  return taken;
}

Result<ProtoField> ProtoReader::Next() {
  STOKER_TRY(const std::uint64_t tag, Varint());
  const std::uint64_t number = tag >> kWireTypeBits;
  constexpr std::uint64_t kMaxNumber = (1U << 29) - 1;
  if (number == 0 || number > kMaxNumber) return Malformed("a field's number is out of range");
  ProtoField field;
  field.number_ = static_cast<std::uint32_t>(number);
  field.wire_type_ = static_cast<std::uint32_t>(tag & ((1U << kWireTypeBits) - 1));
  switch (field.wire_type_) {
    case kVarint: {
      STOKER_TRY(field.scalar_, Varint());
      return field;
    }
    case kFixed64: {
      STOKER_TRY(const std::string_view raw, Take(sizeof(std::uint64_t)));
      std::memcpy(&field.scalar_, raw.data(), raw.size());
      return field;
    }
    case kFixed32: {
      STOKER_TRY(const std::string_view raw, Take(sizeof(std::uint32_t)));
      std::memcpy(&field.scalar_, raw.data(), raw.size());
      return field;
    }
    case kLengthPrefixed: {
      STOKER_TRY(const std::uint64_t size, Varint());
      STOKER_TRY(field.bytes_, Take(size));
      return field;
    }
    default:
      return Malformed("wire type " + std::to_string(field.wire_type_) + " stands");
  }
}

Status ProtoField::ExpectType(std::string_view name, std::uint32_t wire_type) const {
  if (wire_type_ == wire_type) return Ok();
  return Wrong(name, "has wire type " + std::to_string(wire_type_) + "; expected " +
                         std::to_string(wire_type) + ".");
}

Status ProtoField::Get(std::string_view name, std::uint64_t* out) const {
  STOKER_RETURN_IF_ERROR(ExpectType(name, kVarint));
  *out = scalar_;
  return Ok();
}

Status ProtoField::Get(std::string_view name, std::uint32_t* out) const {
  STOKER_RETURN_IF_ERROR(ExpectType(name, kVarint));
  if (scalar_ > std::numeric_limits<std::uint32_t>::max()) {
    return DoesNotFit(name, std::to_string(scalar_));
  }
  *out = static_cast<std::uint32_t>(scalar_);
  return Ok();
}

Status ProtoField::Get(std::string_view name, std::int64_t* out) const {
  STOKER_RETURN_IF_ERROR(ExpectType(name, kVarint));
  *out = static_cast<std::int64_t>(scalar_);
  return Ok();
}

Status ProtoField::Get(std::string_view name, std::int32_t* out) const {
  std::int64_t value = 0;
  STOKER_RETURN_IF_ERROR(Get(name, &value));
  if (value != static_cast<std::int32_t>(value)) return DoesNotFit(name, std::to_string(value));
  *out = static_cast<std::int32_t>(value);
  return Ok();
}

Status ProtoField::Get(std::string_view name, bool* out) const {
  STOKER_RETURN_IF_ERROR(ExpectType(name, kVarint));
  *out = scalar_ != 0;
  return Ok();
}

Status ProtoField::Get(std::string_view name, double* out) const {
  STOKER_RETURN_IF_ERROR(ExpectType(name, kFixed64));
  *out = std::bit_cast<double>(scalar_);
  return Ok();
}

Status ProtoField::Get(std::string_view name, std::string_view* out) const {
  STOKER_RETURN_IF_ERROR(ExpectType(name, kLengthPrefixed));
  *out = bytes_;
  return Ok();
}

Status ProtoField::GetText(std::string_view name, std::string_view* out) const {
  STOKER_RETURN_IF_ERROR(Get(name, out));
  if (!IsValidUtf8(*out)) return Wrong(name, "is no valid UTF-8.");
  return Ok();
}

}  // namespace stoker::wire
