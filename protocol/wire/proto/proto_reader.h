// Reads messages in the protobuf wire format, field by field, without copying.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker::wire {

// One field of a message. The getters take the name that errors give the field, and fail with
// InvalidArgument when the field is encoded as another type or its value does not fit.
class ProtoField {
 public:
  std::uint32_t number() const { return number_; }

  Status Get(std::string_view name, std::uint64_t* out) const;
  Status Get(std::string_view name, std::uint32_t* out) const;
  Status Get(std::string_view name, std::int64_t* out) const;
  Status Get(std::string_view name, std::int32_t* out) const;
  Status Get(std::string_view name, bool* out) const;
  Status Get(std::string_view name, double* out) const;
  // bytes, or an encoded message; a view into what is being read.
  Status Get(std::string_view name, std::string_view* out) const;
  // string: also fails when it is no UTF-8.
  Status GetText(std::string_view name, std::string_view* out) const;

  // Calls `each(std::int64_t) -> Status` for the element or the packed elements of a repeated
  // int64.
  template <typename Each>
  Status ForEachInt(std::string_view name, Each each) const;

 private:
  friend class ProtoReader;
  Status ExpectType(std::string_view name, std::uint32_t wire_type) const;

  std::uint32_t number_ = 0;
  std::uint32_t wire_type_ = 0;
  std::uint64_t scalar_ = 0;  // kVarint, kFixed64, kFixed32.
  std::string_view bytes_;    // kLengthPrefixed.
};

class ProtoReader {
 public:
  // `name`: the message, for errors.
  ProtoReader(std::string_view name, std::string_view bytes) : name_(name), bytes_(bytes) {}

  bool AtEnd() const { return position_ == bytes_.size(); }
  // The next field, known or not. Requires !AtEnd().
  Result<ProtoField> Next();
  Result<std::uint64_t> Varint();

 private:
  Error Malformed(std::string_view what) const;
  Result<std::string_view> Take(std::uint64_t size);

  std::string_view name_;
  std::string_view bytes_;
  std::size_t position_ = 0;
};

// Calls `each(const ProtoField&) -> Status` for every field of the message `bytes`.
template <typename Each>
Status ForEachField(std::string_view name, std::string_view bytes, Each each) {
  ProtoReader reader(name, bytes);
  while (!reader.AtEnd()) {
    STOKER_TRY(const ProtoField field, reader.Next());
    STOKER_RETURN_IF_ERROR(each(field));
  }
  return Ok();
}

template <typename Each>
Status ProtoField::ForEachInt(std::string_view name, Each each) const {
  std::int64_t value = 0;
  std::string_view packed;
  if (!Get(name, &packed).ok()) {
    STOKER_RETURN_IF_ERROR(Get(name, &value));
    return each(value);
  }
  ProtoReader reader(name, packed);
  while (!reader.AtEnd()) {
    STOKER_TRY(const std::uint64_t bits, reader.Varint());
    STOKER_RETURN_IF_ERROR(each(static_cast<std::int64_t>(bits)));
  }
  return Ok();
}

}  // namespace stoker::wire
