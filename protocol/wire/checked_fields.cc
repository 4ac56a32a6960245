#include "protocol/wire/checked_fields.h"

#include <cmath>

#include "protocol/base/namespace.h"
#include "protocol/wire/limits.h"

namespace stoker::wire {

Error Wrong(std::string_view name, const std::string& why) {
  return InvalidArgument("Field '" + std::string(name) + "' " + why);
}

Status CheckSize(std::string_view name, std::size_t size, std::size_t limit,
                 std::string_view unit) {
  if (size <= limit) return Ok();
  return ResourceExhausted("Field '" + std::string(name) + "' has " + std::to_string(size) + " " +
                           std::string(unit) + ", more than the limit of " + std::to_string(limit) +
                           ".");
}

Status ToDigest(std::string_view name, std::string_view bytes, Digest* out) {
  if (bytes.size() != Digest::kSize) {
    return Wrong(name, "has " + std::to_string(bytes.size()) + " bytes; a digest has " +
                           std::to_string(Digest::kSize) + ".");
  }
  STOKER_TRY(*out, Digest::FromBytes(bytes));
  return Ok();
}

Status TakeOptionalDigest(std::string_view name, const ProtoField& field, Digest* out) {
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  if (bytes.empty()) return Ok();
  return ToDigest(name, bytes, out);
}

Status AppendDigest(std::string_view name, const ProtoField& field, std::vector<Digest>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, out->size() + 1, kMaxDigests, "digests"));
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  return ToDigest(name, bytes, &out->emplace_back());
}

Status AppendPublicKey(std::string_view name, const ProtoField& field, std::size_t limit,
                       std::vector<PublicKey>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, out->size() + 1, limit, "keys"));
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  if (bytes.size() != PublicKey::kSize) {
    return Wrong(name, "has " + std::to_string(bytes.size()) + " bytes; a public key has " +
                           std::to_string(PublicKey::kSize) + ".");
  }
  STOKER_TRY(out->emplace_back(), PublicKey::FromBytes(bytes));
  return Ok();
}

Status TakeSignature(std::string_view name, const ProtoField& field, Signature* out) {
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  if (bytes.size() != Signature::kSize) {
    return Wrong(name, "has " + std::to_string(bytes.size()) + " bytes; a signature has " +
                           std::to_string(Signature::kSize) + ".");
  }
  STOKER_TRY(*out, Signature::FromBytes(bytes));
  return Ok();
}

Status TakeBytes(std::string_view name, const ProtoField& field, std::size_t limit,
                 std::string* out) {
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  STOKER_RETURN_IF_ERROR(CheckSize(name, bytes.size(), limit, "bytes"));
  *out = std::string(bytes);
  return Ok();
}

Status TakeText(std::string_view name, const ProtoField& field, std::size_t limit,
                std::string* out) {
  std::string_view text;
  STOKER_RETURN_IF_ERROR(field.GetText(name, &text));
  STOKER_RETURN_IF_ERROR(CheckSize(name, text.size(), limit, "bytes"));
  *out = std::string(text);
  return Ok();
}

Status AppendText(std::string_view name, const ProtoField& field, std::vector<std::string>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, out->size() + 1, kMaxShortList, "elements"));
  return TakeText(name, field, kMaxNameBytes, &out->emplace_back());
}

Status TakeSeconds(std::string_view name, const ProtoField& field, double* out) {
  double value = 0.0;
  STOKER_RETURN_IF_ERROR(field.Get(name, &value));
  if (!std::isfinite(value) || value < 0) {
    return Wrong(name, "is " + std::to_string(value) + "; a time is finite and not negative.");
  }
  *out = value;
  return Ok();
}

Status TakeNamespace(std::string_view name, const ProtoField& field, std::string* out) {
  STOKER_RETURN_IF_ERROR(TakeText(name, field, kMaxNamespaceBytes, out));
  // An empty one stands for another.
  if (out->empty() || CheckNamespace(*out).ok()) return Ok();
  return Wrong(name, "is '" + *out + "'; allowed are a-z 0-9 . _ -");
}

Status CheckKeyPrefix(std::string_view name, const std::string& text) {
  constexpr std::size_t kMinDigits = 4;
  const bool hex = text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hex && text.size() >= kMinDigits && text.size() <= 2 * Digest::kSize) return Ok();
  return Wrong(name, "is '" + text + "'; a key begins with 4 to 64 lowercase hexadecimal digits.");
}

Status AppendBlob(std::string_view name, const ProtoField& field, std::vector<Blob>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, out->size() + 1, kMaxDigests, "blobs"));
  std::string_view message;
  STOKER_RETURN_IF_ERROR(field.Get(name, &message));
  const std::string digest_name = std::string(name) + ".digest";
  std::string_view digest;
  Blob& blob = out->emplace_back();
  STOKER_RETURN_IF_ERROR(ForEachField(name, message, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return f.Get(digest_name, &digest);
      case 2:
        return TakeBytes(std::string(name) + ".data", f, kMaxMessageBytes, &blob.data);
      default:
        return Ok();
    }
  }));
  return ToDigest(digest_name, digest, &blob.digest);
}

Status AppendSection(std::string_view name, const ProtoField& field, std::vector<Section>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, out->size() + 1, kMaxSections, "sections"));
  std::string_view message;
  STOKER_RETURN_IF_ERROR(field.Get(name, &message));
  Section& section = out->emplace_back();
  return ForEachField(name, message, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return TakeText(std::string(name) + ".name", f, kMaxNameBytes, &section.name);
      case 2:
        return TakeText(std::string(name) + ".text", f, kMaxTextBytes, &section.text);
      default:
        return Ok();
    }
  });
}

}  // namespace stoker::wire
