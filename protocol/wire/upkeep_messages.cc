#include "protocol/wire/upkeep_messages.h"

#include "protocol/wire/checked_fields.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/proto/proto_writer.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker::wire {
namespace {

void Write(ProtoWriter& out, const Pin& pin) {
  out.Bytes(1, pin.ns);
  WriteDigest(out, 2, pin.key);
  out.Bytes(3, ToValidUtf8(pin.kind));
  out.Bytes(4, ToValidUtf8(pin.label));
  out.UInt(5, pin.size_bytes);
  out.Double(6, pin.pinned_unix_s);
}

// A finite time of at most a century.
Status TakeAge(std::string_view name, const ProtoField& field, double* out) {
  STOKER_RETURN_IF_ERROR(TakeSeconds(name, field, out));
  if (*out <= kMaxAgeSeconds) return Ok();
  return Wrong(name, "is " + std::to_string(*out) + " seconds; the limit is " +
                         std::to_string(kMaxAgeSeconds) + ".");
}

Status Read(std::string_view name, std::string_view bytes, GcRequest* out) {
  bool has_limit = false;
  std::uint64_t limit_bytes = 0;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return field.Get("gc.has_limit", &has_limit);
      case 2:
        return field.Get("gc.limit_bytes", &limit_bytes);
      case 3:
        return TakeAge("gc.unnamed_seconds", field, &out->unnamed_seconds);
      default:
        return Ok();
    }
  }));
  if (has_limit) out->limit_bytes = limit_bytes;
  return Ok();
}

Status Read(std::string_view name, std::string_view bytes, PurgeRequest* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("purge.namespace", field, &out->ns);
      case 2:
        return TakeText("purge.compiler_epoch", field, kMaxNameBytes, &out->compiler_epoch);
      case 3:
        return TakeAge("purge.unused_seconds", field, &out->unused_seconds);
      case 4:
        return field.Get("purge.dry_run", &out->dry_run);
      default:
        return Ok();
    }
  }));
  if (!out->ns.empty() || !out->compiler_epoch.empty() || out->unused_seconds > 0) return Ok();
  return Wrong(name, "says neither namespace nor compiler epoch nor age of what is to leave.");
}

Status Read(std::string_view name, std::string_view bytes, PinRequest* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("pin.namespace", field, &out->ns);
      case 2:
        return TakeText("pin.key_prefix", field, kMaxNameBytes, &out->key_prefix);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return CheckKeyPrefix("pin.key_prefix", out->key_prefix);
}

Status Read(std::string_view name, std::string_view bytes, Pin* out) {
  std::string_view key;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("pin.namespace", field, &out->ns);
      case 2:
        return field.Get("pin.key", &key);
      case 3:
        return TakeText("pin.kind", field, kMaxNameBytes, &out->kind);
      case 4:
        return TakeText("pin.label", field, kMaxNameBytes, &out->label);
      case 5:
        return field.Get("pin.size_bytes", &out->size_bytes);
      case 6:
        return TakeSeconds("pin.pinned_unix_s", field, &out->pinned_unix_s);
      default:
        return Ok();
    }
  }));
  return ToDigest("pin.key", key, &out->key);
}

Status Read(std::string_view name, std::string_view bytes, PinsRequest* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    return TakeNamespace("pins.namespace", field, &out->ns);
  });
}

Status AppendPin(const ProtoField& field, std::vector<Pin>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("pins.pins", out->size() + 1, kMaxPins, "pins"));
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get("pins.pins", &bytes));
  return Read("pins.pins", bytes, &out->emplace_back());
}

Status Read(std::string_view name, std::string_view bytes, PinList* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return AppendPin(field, &out->pins);
      case 2:
        return field.Get("pins.bytes", &out->bytes);
      case 3:
        return field.Get("pins.limit_bytes", &out->limit_bytes);
      default:
        return Ok();
    }
  });
}

}  // namespace

std::string EncodeGcRequest(const GcRequest& message) {
  ProtoWriter out;
  out.UInt(1, message.limit_bytes ? 1 : 0);
  out.UInt(2, message.limit_bytes.value_or(0));
  out.Double(3, message.unnamed_seconds);
  return std::move(out).Take();
}

std::string EncodePurgeRequest(const PurgeRequest& message) {
  ProtoWriter out;
  out.Bytes(1, message.ns);
  out.Bytes(2, ToValidUtf8(message.compiler_epoch));
  out.Double(3, message.unused_seconds);
  out.UInt(4, message.dry_run ? 1 : 0);
  return std::move(out).Take();
}

std::string EncodePinRequest(const PinRequest& message) {
  ProtoWriter out;
  out.Bytes(1, message.ns);
  out.Bytes(2, message.key_prefix);
  return std::move(out).Take();
}

std::string EncodePin(const Pin& message) {
  ProtoWriter out;
  Write(out, message);
  return std::move(out).Take();
}

std::string EncodePinsRequest(const PinsRequest& message) {
  ProtoWriter out;
  out.Bytes(1, message.ns);
  return std::move(out).Take();
}

std::string EncodePinList(const PinList& message) {
  ProtoWriter out;
  for (const Pin& pin : message.pins) {
    out.Message(1, [&](ProtoWriter& nested) { Write(nested, pin); });
  }
  out.UInt(2, message.bytes);
  out.UInt(3, message.limit_bytes);
  return std::move(out).Take();
}

Result<GcRequest> DecodeGcRequest(std::string_view bytes) {
  return Decode<GcRequest>("gc", bytes, Read);
}

Result<PurgeRequest> DecodePurgeRequest(std::string_view bytes) {
  return Decode<PurgeRequest>("purge", bytes, Read);
}

Result<PinRequest> DecodePinRequest(std::string_view bytes) {
  return Decode<PinRequest>("pin", bytes, Read);
}

Result<Pin> DecodePin(std::string_view bytes) { return Decode<Pin>("pin", bytes, Read); }

Result<PinsRequest> DecodePinsRequest(std::string_view bytes) {
  return Decode<PinsRequest>("pins", bytes, Read);
}

Result<PinList> DecodePinList(std::string_view bytes) {
  return Decode<PinList>("pins", bytes, Read);
}

}  // namespace stoker::wire
