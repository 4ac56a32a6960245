#include "protocol/key/key_hasher.h"

#include <utility>

namespace stoker {

KeyHasher::KeyHasher(std::string_view domain) {
  ByteWriter writer;
  writer.Bytes(domain);
  sha_.Update(writer.str());
  log_ = std::string(domain) + "\n";
}

void KeyHasher::Field(std::string_view tag, std::string_view value, std::string text) {
  ByteWriter writer;
  writer.Bytes(tag);
  writer.Bytes(value);
  sha_.Update(writer.str());
  const Digest digest = Sha256Of(value);
  log_ += std::string(tag) + " = " + text + "  [" + digest.ToHex() + "]\n";
  fields_.push_back(KeyField{std::string(tag), std::move(text), digest});
}

void KeyHasher::Text(std::string_view tag, std::string_view value) {
  Field(tag, value, std::string(value));
}

void KeyHasher::Code(std::string_view tag, std::uint8_t value, std::string_view name) {
  ByteWriter writer;
  writer.U8(value);
  Field(tag, writer.str(), std::string(name));
}

void KeyHasher::Name(std::string_view tag, const Digest& value) {
  Field(tag, value.AsBytes(), value.ToHex());
}

}  // namespace stoker
