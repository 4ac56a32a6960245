// KeyHasher: SHA-256 over tagged fields.
//
// The hashed bytes are the domain, then per field its tag and its value, each preceded by its
// length as 8 bytes little-endian, so that no two different field lists hash the same bytes.
// Values are canonical (protocol/base/bytes.h); next to each goes a text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/base/digest.h"
#include "protocol/key/compile_request.h"

namespace stoker {

class KeyHasher {
 public:
  // `domain` keeps keys of different kinds apart: "stoker.request-key.2".
  explicit KeyHasher(std::string_view domain);

  // `value`: canonical bytes of the field. `text`: the same, readable.
  void Field(std::string_view tag, std::string_view value, std::string text);

  void Text(std::string_view tag, std::string_view value);
  // An enumerator by its encoded value.
  void Code(std::string_view tag, std::uint8_t value, std::string_view name);
  void Name(std::string_view tag, const Digest& value);

  // What was hashed so far, in order.
  const std::vector<KeyField>& fields() const { return fields_; }
  // One line per field: tag, text, digest.
  const std::string& log() const { return log_; }

  Digest Finish() { return sha_.Finish(); }  // May be called once.

 private:
  Sha256 sha_;
  std::vector<KeyField> fields_;
  std::string log_;
};

}  // namespace stoker
