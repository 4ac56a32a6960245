#include "protocol/wire/capture_messages.h"

#include "protocol/wire/checked_fields.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/proto/proto_writer.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker::wire {
namespace {

void WriteWriters(ProtoWriter& out, const std::vector<PublicKey>& writers) {
  for (const PublicKey& writer : writers) out.Element(4, writer.AsBytes());
}

void Write(ProtoWriter& out, const CaptureQuery& query) {
  out.Bytes(1, query.ns);
  WriteDigest(out, 2, query.capture_key);
  for (const KeyField& field : query.fields) {
    out.Message(3, [&](ProtoWriter& nested) {
      nested.Bytes(1, ToValidUtf8(field.tag));
      nested.Bytes(2, ToValidUtf8(field.text));
      WriteDigest(nested, 3, field.digest);
    });
  }
  WriteWriters(out, query.writers);
}

Status ReadKeyField(const ProtoField& field, std::vector<KeyField>* out) {
  constexpr std::string_view kName = "capture.fields";
  STOKER_RETURN_IF_ERROR(CheckSize(kName, out->size() + 1, kMaxKeyFields, "fields"));
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(kName, &bytes));
  KeyField& key = out->emplace_back();
  return ForEachField(kName, bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return TakeText("capture.fields.tag", f, kMaxNameBytes, &key.tag);
      case 2:
        return TakeText("capture.fields.text", f, kMaxCaptureFieldBytes, &key.text);
      case 3:
        return TakeOptionalDigest("capture.fields.digest", f, &key.digest);
      default:
        return Ok();
    }
  });
}

Status CheckKey(const Digest& key) {
  if (!key.IsZero()) return Ok();
  return Wrong("capture.capture_key", "is missing.");
}

Status Read(std::string_view name, std::string_view bytes, CaptureQuery* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("capture.namespace", field, &out->ns);
      case 2:
        return TakeOptionalDigest("capture.capture_key", field, &out->capture_key);
      case 3:
        return ReadKeyField(field, &out->fields);
      case 4:
        return AppendPublicKey("capture.writers", field, kMaxWriters, &out->writers);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return CheckKey(out->capture_key);
}

Status Read(std::string_view name, std::string_view bytes, CaptureList* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    STOKER_RETURN_IF_ERROR(
        CheckSize("captures", out->captures.size() + 1, kMaxCapturesPerKey, "captures"));
    return AppendBlob("captures", field, &out->captures);
  });
}

Status Read(std::string_view name, std::string_view bytes, CapturePut* out) {
  std::string_view key;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return field.Get("capture.key", &key);
      case 2:
        return TakeText("capture.label", field, kMaxNameBytes, &out->label);
      case 3:
        return TakeBytes("capture.capture", field, kMaxMessageBytes, &out->capture);
      default:
        return Ok();
    }
  }));
  return Read("capture.key", key, &out->key);
}

Status Read(std::string_view name, std::string_view bytes, CaptureDrop* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("capture.namespace", field, &out->ns);
      case 2:
        return TakeOptionalDigest("capture.capture_key", field, &out->capture_key);
      case 3:
        return TakeOptionalDigest("capture.capture", field, &out->capture);
      case 4:
        return AppendPublicKey("capture.writers", field, kMaxWriters, &out->writers);
      case 5:
        return TakeSignature("capture.signature", field, &out->signature);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return CheckKey(out->capture_key);
}

Status CheckOutcome(const std::string& outcome) {
  for (const std::string_view known :
       {"hit", "miss", "recorded", "local", "failed", "damaged", "audited", "differing"}) {
    if (outcome == known) return Ok();
  }
  return Wrong("capture.outcome", "is '" + outcome +
                                      "', which is none of hit, miss, recorded, local, failed, "
                                      "damaged, audited, differing.");
}

Status Read(std::string_view name, std::string_view bytes, CaptureNote* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("capture.namespace", field, &out->ns);
      case 2:
        return TakeText("capture.entry", field, kMaxNameBytes, &out->entry);
      case 3:
        return TakeText("capture.outcome", field, kMaxNameBytes, &out->outcome);
      case 4:
        return TakeText("capture.reason", field, kMaxCaptureReasonBytes, &out->reason);
      case 5:
        return TakeText("capture.detail", field, kMaxCaptureFieldBytes, &out->detail);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return CheckOutcome(out->outcome);
}

}  // namespace

std::string EncodeCaptureQuery(const CaptureQuery& message) {
  ProtoWriter out;
  Write(out, message);
  return std::move(out).Take();
}

std::string EncodeCaptureList(const CaptureList& message) {
  ProtoWriter out;
  for (const Blob& capture : message.captures) {
    out.Message(1, [&](ProtoWriter& nested) {
      WriteDigest(nested, 1, capture.digest);
      nested.Bytes(2, capture.data);
    });
  }
  return std::move(out).Take();
}

std::string EncodeCapturePut(const CapturePut& message) {
  ProtoWriter out;
  out.Message(1, [&](ProtoWriter& nested) { Write(nested, message.key); });
  out.Bytes(2, ToValidUtf8(message.label));
  out.Bytes(3, message.capture);
  return std::move(out).Take();
}

std::string EncodeCaptureDrop(const CaptureDrop& message) {
  ProtoWriter out;
  out.Bytes(1, message.ns);
  WriteDigest(out, 2, message.capture_key);
  WriteDigest(out, 3, message.capture);
  WriteWriters(out, message.writers);
  out.Bytes(5, message.signature.AsBytes());
  return std::move(out).Take();
}

std::string EncodeCaptureNote(const CaptureNote& message) {
  ProtoWriter out;
  out.Bytes(1, message.ns);
  out.Bytes(2, ToValidUtf8(message.entry));
  out.Bytes(3, ToValidUtf8(message.outcome));
  out.Bytes(4, ToValidUtf8(message.reason));
  out.Bytes(5, ToValidUtf8(message.detail));
  return std::move(out).Take();
}

Result<CaptureQuery> DecodeCaptureQuery(std::string_view bytes) {
  return Decode<CaptureQuery>("capture", bytes, Read);
}

Result<CaptureList> DecodeCaptureList(std::string_view bytes) {
  return Decode<CaptureList>("captures", bytes, Read);
}

Result<CapturePut> DecodeCapturePut(std::string_view bytes) {
  return Decode<CapturePut>("capture", bytes, Read);
}

Result<CaptureDrop> DecodeCaptureDrop(std::string_view bytes) {
  return Decode<CaptureDrop>("capture", bytes, Read);
}

Result<CaptureNote> DecodeCaptureNote(std::string_view bytes) {
  return Decode<CaptureNote>("capture", bytes, Read);
}

}  // namespace stoker::wire
