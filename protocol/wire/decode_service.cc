// The messages around the road of a request: greeting, statistics, and the tools' questions.
#include <cmath>

#include "protocol/wire/checked_fields.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"

namespace stoker::wire {
namespace {

// Every Read(name, bytes, out) reads one message; `default` skips fields of a newer peer.

Status Read(std::string_view name, std::string_view bytes, Hello* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return field.Get("hello.protocol_version", &out->protocol_version);
      case 2:
        return TakeText("hello.daemon_version", field, kMaxNameBytes, &out->daemon_version);
      case 3:
        return TakeText("hello.compiler_epoch", field, kMaxNameBytes, &out->compiler_epoch);
      case 4:
        return field.Get("hello.pid", &out->pid);
      case 5:
        return AppendText("hello.target_kinds", field, &out->target_kinds);
      case 6:
        return AppendPublicKey("hello.signing_keys", field, kMaxSigningKeys, &out->signing_keys);
      default:
        return Ok();
    }
  });
}

// An entry of a protobuf map: a key, and a value that `out` receives.
template <typename Value>
Status TakeMapEntry(std::string_view name, const ProtoField& field, std::string* key, Value* out) {
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  return ForEachField(name, bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return TakeText(name, f, kMaxNameBytes, key);
      case 2:
        return f.Get(name, out);
      default:
        return Ok();
    }
  });
}

Status AddCounter(const ProtoField& field, std::map<std::string, double>* out) {
  std::string name;
  double value = 0.0;
  STOKER_RETURN_IF_ERROR(TakeMapEntry("report.counters", field, &name, &value));
  if (!std::isfinite(value) || value < 0) {
    return Wrong("report.counters", "has " + name + " = " + std::to_string(value) +
                                        "; a counter is finite and not negative.");
  }
  (*out)[name] = value;
  return CheckSize("report.counters", out->size(), kMaxCounters, "counters");
}

Status AddFallbackOp(const ProtoField& field, std::map<std::string, std::uint64_t>* out) {
  std::string name;
  std::uint64_t count = 0;
  STOKER_RETURN_IF_ERROR(TakeMapEntry("report.fallback_ops", field, &name, &count));
  (*out)[name] = count;
  return CheckSize("report.fallback_ops", out->size(), kMaxCounters, "ops");
}

Status Read(std::string_view name, std::string_view bytes, Report* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("report.namespace", field, &out->ns);
      case 2:
        return AddCounter(field, &out->counters);
      case 3:
        return AddFallbackOp(field, &out->fallback_ops);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return Ok();
}

Status Read(std::string_view name, std::string_view bytes, ListRequest* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("list.namespace", field, &out->ns);
      case 2:
        return TakeText("list.kind", field, kMaxNameBytes, &out->kind);
      case 3:
        return field.Get("list.limit", &out->limit);
      case 4:
        return field.Get("list.stale", &out->stale);
      default:
        return Ok();
    }
  }));
  return CheckSize("list.limit", out->limit, kMaxListEntries, "entries");
}

Status Read(std::string_view name, std::string_view bytes, ListEntry* out) {
  std::string_view key;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return field.Get("list.entries.key", &key);
      case 2:
        return TakeOptionalDigest("list.entries.artifact", field, &out->artifact);
      case 3:
        return TakeNamespace("list.entries.namespace", field, &out->ns);
      case 4:
        return TakeText("list.entries.kind", field, kMaxNameBytes, &out->kind);
      case 5:
        return TakeText("list.entries.label", field, kMaxNameBytes, &out->label);
      case 6:
        return field.Get("list.entries.size_bytes", &out->size_bytes);
      case 7:
        return TakeSeconds("list.entries.created_unix_s", field, &out->created_unix_s);
      case 8:
        return TakeSeconds("list.entries.last_used_unix_s", field, &out->last_used_unix_s);
      case 9:
        return TakeSeconds("list.entries.compile_seconds", field, &out->compile_seconds);
      case 10:
        return field.Get("list.entries.hits", &out->hits);
      case 11:
        return TakeText("list.entries.target", field, kMaxNameBytes, &out->target);
      case 12:
        return TakeBytes("list.entries.request", field, kMaxMessageBytes, &out->request);
      case 13:
        return TakeText("list.entries.writer", field, kMaxNameBytes, &out->writer);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return ToDigest("list.entries.key", key, &out->key);
}

Status Read(std::string_view name, std::string_view bytes, ListReply* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    STOKER_RETURN_IF_ERROR(
        CheckSize("list.entries", out->entries.size() + 1, kMaxListEntries, "entries"));
    std::string_view entry;
    STOKER_RETURN_IF_ERROR(field.Get("list.entries", &entry));
    return Read("list.entries", entry, &out->entries.emplace_back());
  });
}

Status Read(std::string_view name, std::string_view bytes, InspectRequest* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("inspect.namespace", field, &out->ns);
      case 2:
        return TakeText("inspect.key_prefix", field, kMaxNameBytes, &out->key_prefix);
      case 3:
        return AppendText("inspect.sections", field, &out->sections);
      default:
        return Ok();
    }
  }));
  return CheckKeyPrefix("inspect.key_prefix", out->key_prefix);
}

Status Read(std::string_view name, std::string_view bytes, InspectReply* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    return AppendSection("inspect.sections", field, &out->sections);
  });
}

Status Read(std::string_view name, std::string_view bytes, ExplainRequest* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("explain.namespace", field, &out->ns);
      case 2:
        return TakeText("explain.key_a", field, kMaxNameBytes, &out->key_a);
      case 3:
        return TakeText("explain.key_b", field, kMaxNameBytes, &out->key_b);
      default:
        return Ok();
    }
  }));
  STOKER_RETURN_IF_ERROR(CheckKeyPrefix("explain.key_a", out->key_a));
  return CheckKeyPrefix("explain.key_b", out->key_b);
}

Status Read(std::string_view name, std::string_view bytes, ExplainReply::Difference* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeText("explain.differences.tag", field, kMaxNameBytes, &out->tag);
      case 2:
        return TakeText("explain.differences.a", field, kMaxTextBytes, &out->a);
      case 3:
        return TakeText("explain.differences.b", field, kMaxTextBytes, &out->b);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, ExplainReply* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    STOKER_RETURN_IF_ERROR(CheckSize("explain.differences", out->differences.size() + 1,
                                     kMaxKeyFields, "differences"));
    std::string_view difference;
    STOKER_RETURN_IF_ERROR(field.Get("explain.differences", &difference));
    return Read("explain.differences", difference, &out->differences.emplace_back());
  });
}

}  // namespace

Result<Hello> DecodeHello(std::string_view bytes) { return Decode<Hello>("hello", bytes, Read); }

Result<Report> DecodeReport(std::string_view bytes) {
  return Decode<Report>("report", bytes, Read);
}

Result<ListRequest> DecodeListRequest(std::string_view bytes) {
  return Decode<ListRequest>("list", bytes, Read);
}

Result<ListReply> DecodeListReply(std::string_view bytes) {
  return Decode<ListReply>("list", bytes, Read);
}

Result<InspectRequest> DecodeInspectRequest(std::string_view bytes) {
  return Decode<InspectRequest>("inspect", bytes, Read);
}

Result<InspectReply> DecodeInspectReply(std::string_view bytes) {
  return Decode<InspectReply>("inspect", bytes, Read);
}

Result<ExplainRequest> DecodeExplainRequest(std::string_view bytes) {
  return Decode<ExplainRequest>("explain", bytes, Read);
}

Result<ExplainReply> DecodeExplainReply(std::string_view bytes) {
  return Decode<ExplainReply>("explain", bytes, Read);
}

}  // namespace stoker::wire
