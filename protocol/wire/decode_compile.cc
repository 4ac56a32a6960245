// The messages of the road of one request: lookup, compile, and the compile worker; and the events
// of every stream.
#include "protocol/wire/checked_fields.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"

namespace stoker::wire {
namespace {

// Every Read(name, bytes, out) reads one message; `default` skips fields of a newer peer.

// Messages that stand in others; ReadNested needs them declared.
Status Read(std::string_view name, std::string_view bytes, Bundle* out);
Status Read(std::string_view name, std::string_view bytes, CompileCall* out);
Status Read(std::string_view name, std::string_view bytes, CompileOptions* out);
Status Read(std::string_view name, std::string_view bytes, ErrorReply* out);
Status Read(std::string_view name, std::string_view bytes, KernelQuery* out);
Status Read(std::string_view name, std::string_view bytes, Progress* out);
Status Read(std::string_view name, std::string_view bytes, UpkeepReport* out);
Status Read(std::string_view name, std::string_view bytes, WorkerDone* out);
Status Read(std::string_view name, std::string_view bytes, WorkerReady* out);

// The message in `field`, read into `out`.
template <typename Struct>
Status ReadNested(std::string_view name, const ProtoField& field, Struct* out) {
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get(name, &bytes));
  return Read(name, bytes, out);
}

Status Read(std::string_view name, std::string_view bytes, ErrorReply* out) {
  std::string_view code;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return field.GetText("error.code", &code);
      case 2:
        return TakeText("error.message", field, kMaxTextBytes, &out->message);
      case 3:
        return TakeText("error.field", field, kMaxNameBytes, &out->field);
      default:
        return Ok();
    }
  }));
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    out->code = static_cast<ErrorCode>(i);
    if (ErrorCodeName(out->code) == code) return Ok();
  }
  return Wrong("error.code", "is '" + std::string(code) + "', which is no error code.");
}

Status Read(std::string_view name, std::string_view bytes, Progress* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeText("progress.stage", field, kMaxNameBytes, &out->stage);
      case 2:
        return field.Get("progress.done", &out->done);
      case 3:
        return field.Get("progress.total", &out->total);
      case 4:
        return TakeText("progress.detail", field, kMaxNameBytes, &out->detail);
      case 5:
        return TakeSeconds("progress.elapsed_seconds", field, &out->elapsed_seconds);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, Bundle* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeBytes("bundle.artifact", field, kMaxArtifactBytes, &out->artifact);
      case 2:
        return AppendBlob("bundle.blobs", field, &out->blobs);
      case 3:
        return TakeText("bundle.source", field, kMaxNameBytes, &out->source);
      case 4:
        return TakeSeconds("bundle.compile_seconds", field, &out->compile_seconds);
      case 5:
        return TakeBytes("bundle.request", field, kMaxMessageBytes, &out->request);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, CompileOptions* out) {
  std::uint32_t numerics_code = 0;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 2:
        return field.Get("options.numerics", &numerics_code);
      default:
        return Ok();
    }
  }));
  const auto numerics = NumericsFromCode(numerics_code);
  if (!numerics) {
    return Wrong("options.numerics",
                 "is " + std::to_string(numerics_code) + ", which is no numerics.");
  }
  out->numerics = *numerics;
  return Ok();
}

Status Read(std::string_view name, std::string_view bytes, CompileCall* out) {
  std::string_view request_key;
  std::string_view target_text;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("compile.namespace", field, &out->ns);
      case 2:
        return field.Get("compile.request_key", &request_key);
      case 3:
        return TakeBytes("compile.graph", field, kMaxGraphBytes, &out->graph);
      case 4:
        return TakeOptionalDigest("compile.graph_digest", field, &out->graph_digest);
      case 5:
        return TakeText("compile.graph_name", field, kMaxNameBytes, &out->graph_name);
      case 7:
        return field.GetText("compile.target", &target_text);
      case 8:
        return ReadNested("options", field, &out->options);
      case 9:
        return TakeText("compile.compiler_epoch", field, kMaxNameBytes, &out->compiler_epoch);
      case 10:
        return AppendDigest("compile.have_kernels", field, &out->have_kernels);
      case 11:
        return field.Get("compile.store_only", &out->store_only);
      default:
        return Ok();
    }
  }));
  STOKER_RETURN_IF_ERROR(ToDigest("compile.request_key", request_key, &out->request_key));
  if (out->graph.empty() && out->graph_digest.IsZero()) {
    return Wrong("compile.graph", "is empty, and so is compile.graph_digest.");
  }
  Result<Target> target = Target::Parse(target_text);
  if (!target.ok()) return target.error().WithContext("Field 'compile.target'");
  out->target = std::move(target).value();
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return Ok();
}

Status AppendKeyField(const ProtoField& field, std::vector<KeyField>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("lookup.fields", out->size() + 1, kMaxKeyFields, "fields"));
  std::string_view bytes;
  std::string_view digest;
  STOKER_RETURN_IF_ERROR(field.Get("lookup.fields", &bytes));
  KeyField& added = out->emplace_back();
  STOKER_RETURN_IF_ERROR(ForEachField("lookup.fields", bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return TakeText("lookup.fields.tag", f, kMaxNameBytes, &added.tag);
      case 2:
        return TakeText("lookup.fields.text", f, kMaxTextBytes, &added.text);
      case 3:
        return f.Get("lookup.fields.digest", &digest);
      default:
        return Ok();
    }
  }));
  return ToDigest("lookup.fields.digest", digest, &added.digest);
}

Status Read(std::string_view name, std::string_view bytes, LookupRequest* out) {
  std::string_view request_key;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("lookup.namespace", field, &out->ns);
      case 2:
        return field.Get("lookup.request_key", &request_key);
      case 3:
        return TakeOptionalDigest("lookup.graph_digest", field, &out->graph_digest);
      case 4:
        return AppendDigest("lookup.have_kernels", field, &out->have_kernels);
      case 5:
        return AppendKeyField(field, &out->fields);
      case 6:
        return field.Get("lookup.with_request", &out->with_request);
      case 7:
        return field.Get("lookup.probe", &out->probe);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return ToDigest("lookup.request_key", request_key, &out->request_key);
}

Status Read(std::string_view name, std::string_view bytes, Miss* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return field.Get("miss.graph_known", &out->graph_known);
      case 2:
        return TakeText("miss.reason", field, kMaxTextBytes, &out->reason);
      case 3:
        return field.Get("miss.untrusted_writers", &out->untrusted_writers);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, WorkerRequest* out) {
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return ReadNested("work.call", field, &out->call);
      case 2:
        return AppendText("work.inspect_sections", field, &out->inspect_sections);
      case 3:
        return TakeText("work.request_id", field, kMaxNameBytes, &out->request_id);
      default:
        return Ok();
    }
  }));
  if (out->call.graph.empty()) return Wrong("work.call.graph", "is empty.");
  return Ok();
}

Status Read(std::string_view name, std::string_view bytes, KernelQuery* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    return AppendDigest("query.kernel_keys", field, &out->kernel_keys);
  });
}

Status AppendCompiledKernel(const ProtoField& field, std::vector<WorkerDone::CompiledKernel>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("done.kernels", out->size() + 1, kMaxDigests, "kernels"));
  std::string_view bytes;
  std::string_view key;
  STOKER_RETURN_IF_ERROR(field.Get("done.kernels", &bytes));
  WorkerDone::CompiledKernel& added = out->emplace_back();
  STOKER_RETURN_IF_ERROR(ForEachField("done.kernels", bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return f.Get("done.kernels.kernel_key", &key);
      case 2:
        return TakeBytes("done.kernels.data", f, kMaxMessageBytes, &added.data);
      default:
        return Ok();
    }
  }));
  return ToDigest("done.kernels.kernel_key", key, &added.kernel_key);
}

Status AppendSpan(const ProtoField& field, std::vector<Span>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("done.spans", out->size() + 1, kMaxSpans, "spans"));
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get("done.spans", &bytes));
  Span& added = out->emplace_back();
  return ForEachField("done.spans", bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return TakeText("done.spans.name", f, kMaxNameBytes, &added.name);
      case 2:
        return TakeText("done.spans.detail", f, kMaxNameBytes, &added.detail);
      case 3:
        return f.Get("done.spans.start_us", &added.start_us);
      case 4:
        return f.Get("done.spans.duration_us", &added.duration_us);
      case 5:
        return f.Get("done.spans.thread", &added.thread);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, WorkerDone* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeBytes("done.artifact", field, kMaxArtifactBytes, &out->artifact);
      case 2:
        return AppendCompiledKernel(field, &out->kernels);
      case 3:
        return AppendBlob("done.constants", field, &out->constants);
      case 4:
        return TakeSeconds("done.compile_seconds", field, &out->compile_seconds);
      case 5:
        return field.Get("done.unique_kernels", &out->unique_kernels);
      case 6:
        return AppendSection("done.sections", field, &out->sections);
      case 7:
        return AppendSpan(field, &out->spans);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, WorkerReady* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return AppendText("ready.protections", field, &out->protections);
      case 2:
        return AppendText("ready.target_kinds", field, &out->target_kinds);
      default:
        return Ok();
    }
  });
}

Status AppendKnownKernel(const ProtoField& field, std::vector<WorkerKernelReply::Known>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("kernels", out->size() + 1, kMaxDigests, "kernels"));
  std::string_view bytes;
  std::string_view key;
  STOKER_RETURN_IF_ERROR(field.Get("kernels", &bytes));
  WorkerKernelReply::Known& added = out->emplace_back();
  STOKER_RETURN_IF_ERROR(ForEachField("kernels", bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return f.Get("kernels.kernel_key", &key);
      case 2:
        return TakeOptionalDigest("kernels.blob", f, &added.blob);
      case 3:
        return f.Get("kernels.size_bytes", &added.size_bytes);
      default:
        return Ok();
    }
  }));
  return ToDigest("kernels.kernel_key", key, &added.kernel_key);
}

Status Read(std::string_view name, std::string_view bytes, WorkerKernelReply* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    return AppendKnownKernel(field, &out->kernels);
  });
}

Status AppendCount(const ProtoField& field, std::vector<UpkeepReport::Count>* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("upkeep.counts", out->size() + 1, kMaxUpkeepCounts, "counts"));
  std::string_view bytes;
  STOKER_RETURN_IF_ERROR(field.Get("upkeep.counts", &bytes));
  UpkeepReport::Count& count = out->emplace_back();
  return ForEachField("upkeep.counts", bytes, [&](const ProtoField& f) -> Status {
    switch (f.number()) {
      case 1:
        return TakeText("upkeep.counts.name", f, kMaxNameBytes, &count.name);
      case 2:
        return f.Get("upkeep.counts.value", &count.value);
      default:
        return Ok();
    }
  });
}

Status Read(std::string_view name, std::string_view bytes, UpkeepReport* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    return AppendCount(field, &out->counts);
  });
}

// One of the alternatives of an event, whose field numbers follow the order of `Alternatives`. Of
// several in one message the last one counts.
template <typename Variant, typename... Alternatives>
Result<Variant> DecodeEvent(std::string_view bytes) {
  STOKER_RETURN_IF_ERROR(CheckSize("event", bytes.size(), kMaxMessageBytes, "bytes"));
  std::optional<Variant> event;
  STOKER_RETURN_IF_ERROR(ForEachField("event", bytes, [&](const ProtoField& field) -> Status {
    std::uint32_t number = 0;
    Status status = Ok();
    const auto try_as = [&]<typename Struct>(Struct value) {
      if (++number != field.number()) return;
      status = ReadNested("event", field, &value);
      event = std::move(value);
    };
    (try_as(Alternatives{}), ...);
    return status;
  }));
  if (!event) return Wrong("event", "is of no kind that this side knows.");
  return *std::move(event);
}

}  // namespace

Result<ErrorReply> DecodeErrorReply(std::string_view bytes) {
  return Decode<ErrorReply>("error", bytes, Read);
}

Result<LookupRequest> DecodeLookupRequest(std::string_view bytes) {
  return Decode<LookupRequest>("lookup", bytes, Read);
}

Result<Miss> DecodeMiss(std::string_view bytes) { return Decode<Miss>("miss", bytes, Read); }

Result<Bundle> DecodeBundle(std::string_view bytes) {
  return Decode<Bundle>("bundle", bytes, Read);
}

Result<CompileCall> DecodeCompileCall(std::string_view bytes) {
  return Decode<CompileCall>("compile", bytes, Read);
}

Result<CompileEvent> DecodeCompileEvent(std::string_view bytes) {
  return DecodeEvent<CompileEvent, Progress, Bundle, ErrorReply>(bytes);
}

Result<UpkeepEvent> DecodeUpkeepEvent(std::string_view bytes) {
  return DecodeEvent<UpkeepEvent, Progress, UpkeepReport, ErrorReply>(bytes);
}

Result<WorkerRequest> DecodeWorkerRequest(std::string_view bytes) {
  return Decode<WorkerRequest>("work", bytes, Read);
}

Result<WorkerEvent> DecodeWorkerEvent(std::string_view bytes) {
  return DecodeEvent<WorkerEvent, Progress, KernelQuery, WorkerDone, ErrorReply, WorkerReady>(
      bytes);
}

Result<WorkerKernelReply> DecodeWorkerKernelReply(std::string_view bytes) {
  return Decode<WorkerKernelReply>("kernels", bytes, Read);
}

}  // namespace stoker::wire
