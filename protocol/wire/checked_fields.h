// Reading one field into what a message struct holds, checked: digests by size, texts and lists by
// limit, namespaces and key prefixes by alphabet. Errors name the field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"
#include "protocol/wire/proto/proto_reader.h"

namespace stoker::wire {

// InvalidArgument "Field 'name' why".
Error Wrong(std::string_view name, const std::string& why);

// ResourceExhausted when `size` (of `unit`: "bytes", "digests") is beyond `limit`.
Status CheckSize(std::string_view name, std::size_t size, std::size_t limit, std::string_view unit);

// A digest that may not be absent is read as bytes and converted after all fields were read.
Status ToDigest(std::string_view name, std::string_view bytes, Digest* out);
Status TakeOptionalDigest(std::string_view name, const ProtoField& field, Digest* out);
Status AppendDigest(std::string_view name, const ProtoField& field, std::vector<Digest>* out);

Status AppendPublicKey(std::string_view name, const ProtoField& field, std::size_t limit,
                       std::vector<PublicKey>* out);
Status TakeSignature(std::string_view name, const ProtoField& field, Signature* out);

Status TakeBytes(std::string_view name, const ProtoField& field, std::size_t limit,
                 std::string* out);
Status TakeText(std::string_view name, const ProtoField& field, std::size_t limit,
                std::string* out);
Status AppendText(std::string_view name, const ProtoField& field, std::vector<std::string>* out);
// A finite time that is not negative.
Status TakeSeconds(std::string_view name, const ProtoField& field, double* out);
// An empty namespace stays empty.
Status TakeNamespace(std::string_view name, const ProtoField& field, std::string* out);

// 4 to 64 lowercase hexadecimal digits.
Status CheckKeyPrefix(std::string_view name, const std::string& text);

Status AppendBlob(std::string_view name, const ProtoField& field, std::vector<Blob>* out);
Status AppendSection(std::string_view name, const ProtoField& field, std::vector<Section>* out);

// A whole message, which `read(name, bytes, &message)` reads unless it is too large.
template <typename Struct>
Result<Struct> Decode(std::string_view name, std::string_view bytes,
                      Status (*read)(std::string_view name, std::string_view bytes, Struct* out)) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, bytes.size(), kMaxMessageBytes, "bytes"));
  Struct message;
  STOKER_RETURN_IF_ERROR(read(name, bytes, &message));
  return message;
}

}  // namespace stoker::wire
