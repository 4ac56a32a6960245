#include "protocol/base/bytes.h"

namespace stoker {

Error ByteReader::Truncated(std::string_view field, std::uint64_t wanted) const {
  return DataLoss("Field '" + std::string(field) + "' needs " + std::to_string(wanted) +
                  " bytes at offset " + std::to_string(position_) + "; " +
                  std::to_string(remaining()) + " are left.");
}

Result<std::string_view> ByteReader::Raw(std::string_view field, std::size_t size) {
  if (remaining() < size) return Truncated(field, size);
  const std::string_view view = input_.substr(position_, size);
  position_ += size;
  return view;
}

Result<std::string_view> ByteReader::Bytes(std::string_view field, std::uint64_t limit) {
  STOKER_TRY(const std::uint64_t size, U64(field));
  if (size > limit) {
    return InvalidArgument("Field '" + std::string(field) + "' has " + std::to_string(size) +
                           " bytes, more than the limit of " + std::to_string(limit) + ".");
  }
  return Raw(field, size);
}

Result<std::uint64_t> ByteReader::Count(std::string_view field, std::size_t min_element_bytes) {
  STOKER_TRY(const std::uint64_t count, U64(field));
  if (min_element_bytes != 0 && count > remaining() / min_element_bytes) {
    return DataLoss("Field '" + std::string(field) + "' counts " + std::to_string(count) +
                    " elements; the " + std::to_string(remaining()) +
                    " bytes left cannot hold them.");
  }
  return count;
}

Status ByteReader::ExpectEnd() const {
  if (AtEnd()) return Ok();
  return DataLoss(std::to_string(remaining()) + " bytes are left after the last field.");
}

}  // namespace stoker
