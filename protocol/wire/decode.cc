#include <cmath>

#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"
#include "stoker.pb.h"

namespace stoker::wire {
namespace {

using Strings = google::protobuf::RepeatedPtrField<std::string>;

Error Wrong(std::string_view field, const std::string& why) {
  return InvalidArgument("Field '" + std::string(field) + "' " + why);
}

Status CheckSize(std::string_view field, std::size_t size, std::size_t limit,
                 std::string_view unit) {
  if (size <= limit) return Ok();
  return ResourceExhausted("Field '" + std::string(field) + "' has " + std::to_string(size) + " " +
                           std::string(unit) + ", more than the limit of " + std::to_string(limit) +
                           ".");
}

template <typename Message>
Result<Message> Parse(std::string_view name, std::string_view bytes) {
  STOKER_RETURN_IF_ERROR(CheckSize(name, bytes.size(), kMaxMessageBytes, "bytes"));
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Wrong(name, "is no well-formed message (" + std::to_string(bytes.size()) + " bytes).");
  }
  return message;
}

Status TakeDigest(std::string_view field, const std::string& bytes, Digest* out) {
  if (bytes.size() != Digest::kSize) {
    return Wrong(field, "has " + std::to_string(bytes.size()) + " bytes; a digest has " +
                            std::to_string(Digest::kSize) + ".");
  }
  STOKER_TRY(*out, Digest::FromBytes(bytes));
  return Ok();
}

// Absent means zero.
Status TakeOptionalDigest(std::string_view field, const std::string& bytes, Digest* out) {
  if (bytes.empty()) return Ok();
  return TakeDigest(field, bytes, out);
}

Status TakeDigests(std::string_view field, const Strings& list, std::vector<Digest>* out) {
  STOKER_RETURN_IF_ERROR(
      CheckSize(field, static_cast<std::size_t>(list.size()), kMaxDigests, "digests"));
  out->resize(static_cast<std::size_t>(list.size()));
  for (int i = 0; i < list.size(); ++i) {
    STOKER_RETURN_IF_ERROR(TakeDigest(field, list[i], &(*out)[static_cast<std::size_t>(i)]));
  }
  return Ok();
}

// Text and bytes are moved out of the parsed message: bundles carry megabytes.
Status TakeText(std::string_view field, std::string* text, std::size_t limit, std::string* out) {
  STOKER_RETURN_IF_ERROR(CheckSize(field, text->size(), limit, "bytes"));
  *out = std::move(*text);
  return Ok();
}

Status TakeTexts(std::string_view field, Strings* list, std::vector<std::string>* out) {
  STOKER_RETURN_IF_ERROR(
      CheckSize(field, static_cast<std::size_t>(list->size()), kMaxShortList, "elements"));
  for (std::string& text : *list) {
    STOKER_RETURN_IF_ERROR(TakeText(field, &text, kMaxNameBytes, &out->emplace_back()));
  }
  return Ok();
}

Status TakeSeconds(std::string_view field, double value, double* out) {
  if (!std::isfinite(value) || value < 0) {
    return Wrong(field, "is " + std::to_string(value) + "; a time is finite and not negative.");
  }
  *out = value;
  return Ok();
}

Status CheckNamespace(std::string_view field, const std::string& ns) {
  STOKER_RETURN_IF_ERROR(CheckSize(field, ns.size(), kMaxNamespaceBytes, "bytes"));
  for (const char c : ns) {
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!allowed) return Wrong(field, "is '" + ns + "'; allowed are a-z 0-9 . _ -");
  }
  return Ok();
}

Status TakeNamespace(std::string_view field, std::string* text, std::string* out) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(field, *text));
  *out = text->empty() ? std::string(kDefaultNamespace) : std::move(*text);
  return Ok();
}

Status TakeNamespaceOrAll(std::string_view field, std::string* text, std::string* out) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(field, *text));
  *out = std::move(*text);
  return Ok();
}

Status TakeKeyPrefix(std::string_view field, std::string* text, std::string* out) {
  constexpr std::size_t kMinDigits = 4;
  const bool hex = text->find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex || text->size() < kMinDigits || text->size() > 2 * Digest::kSize) {
    return Wrong(field, "must be 4 to 64 lowercase hexadecimal digits.");
  }
  *out = std::move(*text);
  return Ok();
}

Status Take(std::string_view field, pb::Blob* blob, Blob* out) {
  STOKER_RETURN_IF_ERROR(TakeDigest(std::string(field) + ".digest", blob->digest(), &out->digest));
  out->data = std::move(*blob->mutable_data());
  return Ok();
}

Status TakeSections(std::string_view field, google::protobuf::RepeatedPtrField<pb::Section>* list,
                    std::vector<Section>* out) {
  for (pb::Section& section : *list) {
    Section& added = out->emplace_back();
    STOKER_RETURN_IF_ERROR(TakeText(field, section.mutable_name(), kMaxNameBytes, &added.name));
    STOKER_RETURN_IF_ERROR(TakeText(field, section.mutable_text(), kMaxTextBytes, &added.text));
  }
  return Ok();
}

Status Take(pb::ErrorReply* reply, ErrorReply* out) {
  const std::optional<ErrorCode> code = [&]() -> std::optional<ErrorCode> {
    for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
      if (ErrorCodeName(static_cast<ErrorCode>(i)) == reply->code()) {
        return static_cast<ErrorCode>(i);
      }
    }
    return std::nullopt;
  }();
  if (!code) return Wrong("error.code", "is '" + reply->code() + "', which is no error code.");
  out->code = *code;
  STOKER_RETURN_IF_ERROR(
      TakeText("error.message", reply->mutable_message(), kMaxTextBytes, &out->message));
  return TakeText("error.field", reply->mutable_field(), kMaxNameBytes, &out->field);
}

Status Take(pb::Progress* progress, Progress* out) {
  STOKER_RETURN_IF_ERROR(
      TakeText("progress.stage", progress->mutable_stage(), kMaxNameBytes, &out->stage));
  out->done = progress->done();
  out->total = progress->total();
  STOKER_RETURN_IF_ERROR(
      TakeText("progress.detail", progress->mutable_detail(), kMaxNameBytes, &out->detail));
  return TakeSeconds("progress.elapsed_seconds", progress->elapsed_seconds(),
                     &out->elapsed_seconds);
}

Status Take(pb::Bundle* bundle, Bundle* out) {
  STOKER_RETURN_IF_ERROR(
      TakeText("bundle.artifact", bundle->mutable_artifact(), kMaxArtifactBytes, &out->artifact));
  STOKER_RETURN_IF_ERROR(CheckSize("bundle.blobs", static_cast<std::size_t>(bundle->blobs_size()),
                                   kMaxDigests, "blobs"));
  for (pb::Blob& blob : *bundle->mutable_blobs()) {
    STOKER_RETURN_IF_ERROR(Take("bundle.blobs", &blob, &out->blobs.emplace_back()));
  }
  STOKER_RETURN_IF_ERROR(
      TakeText("bundle.source", bundle->mutable_source(), kMaxNameBytes, &out->source));
  return TakeSeconds("bundle.compile_seconds", bundle->compile_seconds(), &out->compile_seconds);
}

Status Take(const pb::ShapeSignature& signature, ShapeSignature* out) {
  STOKER_RETURN_IF_ERROR(CheckSize("signature.symbols",
                                   static_cast<std::size_t>(signature.symbols_size()), kMaxSymbols,
                                   "symbols"));
  for (const pb::SymbolFact& fact : signature.symbols()) {
    const auto expected = static_cast<std::uint32_t>(out->symbols.size());
    if (fact.symbol() != expected) {
      return Wrong("signature.symbols.symbol", "is " + std::to_string(fact.symbol()) +
                                                   " at position " + std::to_string(expected) +
                                                   "; symbols stand in order.");
    }
    if (fact.min() < 0 || fact.max() < fact.min()) {
      return Wrong("signature.symbols.max", "makes the empty or negative range [" +
                                                std::to_string(fact.min()) + "," +
                                                std::to_string(fact.max()) + "].");
    }
    if (fact.divisible_by() < 1) {
      return Wrong("signature.symbols.divisible_by",
                   "is " + std::to_string(fact.divisible_by()) + "; it must be at least 1.");
    }
    if (fact.hint() < 0) {
      return Wrong("signature.symbols.hint",
                   "is " + std::to_string(fact.hint()) + "; it must not be negative.");
    }
    out->symbols.push_back(
        SymbolFact{fact.symbol(), fact.min(), fact.max(), fact.divisible_by(), fact.hint()});
  }
  STOKER_RETURN_IF_ERROR(CheckSize("signature.input_alignment_bytes",
                                   static_cast<std::size_t>(signature.input_alignment_bytes_size()),
                                   kMaxGraphInputs, "inputs"));
  for (const std::int64_t alignment : signature.input_alignment_bytes()) {
    constexpr std::int64_t kMaxAlignment = 1 << 21;
    if (alignment < 1 || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
      return Wrong("signature.input_alignment_bytes", "has " + std::to_string(alignment) +
                                                          ", no power of two up to " +
                                                          std::to_string(kMaxAlignment) + ".");
    }
    out->inputs.push_back(InputFact{alignment});
  }
  return Ok();
}

Status Take(const pb::CompileOptions& options, CompileOptions* out) {
  const auto mode = CompileModeFromCode(options.mode());
  if (!mode) {
    return Wrong("options.mode", "is " + std::to_string(options.mode()) + ", which is no mode.");
  }
  const auto numerics = NumericsFromCode(options.numerics());
  if (!numerics) {
    return Wrong("options.numerics",
                 "is " + std::to_string(options.numerics()) + ", which is no numerics.");
  }
  if (options.threads() < 0) {
    return Wrong("options.threads",
                 "is " + std::to_string(options.threads()) + "; it must not be negative.");
  }
  out->mode = *mode;
  out->numerics = *numerics;
  out->verify = options.verify();
  out->threads = options.threads();
  out->dump_debug.value = options.dump_debug();
  return Ok();
}

Status Take(pb::CompileCall* call, CompileCall* out) {
  STOKER_RETURN_IF_ERROR(TakeNamespace("compile.namespace", call->mutable_namespace_(), &out->ns));
  STOKER_RETURN_IF_ERROR(TakeDigest("compile.request_key", call->request_key(), &out->request_key));
  STOKER_RETURN_IF_ERROR(
      TakeText("compile.graph", call->mutable_graph(), kMaxGraphBytes, &out->graph));
  STOKER_RETURN_IF_ERROR(
      TakeOptionalDigest("compile.graph_digest", call->graph_digest(), &out->graph_digest));
  if (out->graph.empty() && out->graph_digest.IsZero()) {
    return Wrong("compile.graph", "is empty, and so is compile.graph_digest.");
  }
  STOKER_RETURN_IF_ERROR(
      TakeText("compile.graph_name", call->mutable_graph_name(), kMaxNameBytes, &out->graph_name));
  STOKER_RETURN_IF_ERROR(Take(call->signature(), &out->signature));
  Result<Target> target = Target::Parse(call->target());
  if (!target.ok()) return target.error().WithContext("Field 'compile.target'");
  out->target = std::move(target).value();
  STOKER_RETURN_IF_ERROR(Take(call->options(), &out->options));
  STOKER_RETURN_IF_ERROR(TakeText("compile.compiler_epoch", call->mutable_compiler_epoch(),
                                  kMaxNameBytes, &out->compiler_epoch));
  return TakeDigests("compile.have_kernels", call->have_kernels(), &out->have_kernels);
}

Status Take(const pb::WorkerEvent::KernelQuery& query, KernelQuery* out) {
  return TakeDigests("query.kernel_keys", query.kernel_keys(), &out->kernel_keys);
}

Status Take(pb::WorkerEvent::Done* done, WorkerDone* out) {
  STOKER_RETURN_IF_ERROR(
      TakeText("done.artifact", done->mutable_artifact(), kMaxArtifactBytes, &out->artifact));
  STOKER_RETURN_IF_ERROR(CheckSize("done.kernels", static_cast<std::size_t>(done->kernels_size()),
                                   kMaxDigests, "kernels"));
  for (pb::WorkerEvent::CompiledKernel& kernel : *done->mutable_kernels()) {
    WorkerDone::CompiledKernel& added = out->kernels.emplace_back();
    STOKER_RETURN_IF_ERROR(
        TakeDigest("done.kernels.kernel_key", kernel.kernel_key(), &added.kernel_key));
    added.data = std::move(*kernel.mutable_data());
  }
  STOKER_RETURN_IF_ERROR(CheckSize(
      "done.constants", static_cast<std::size_t>(done->constants_size()), kMaxDigests, "blobs"));
  for (pb::Blob& blob : *done->mutable_constants()) {
    STOKER_RETURN_IF_ERROR(Take("done.constants", &blob, &out->constants.emplace_back()));
  }
  STOKER_RETURN_IF_ERROR(
      TakeSeconds("done.compile_seconds", done->compile_seconds(), &out->compile_seconds));
  out->unique_kernels = done->unique_kernels();
  return TakeSections("done.sections", done->mutable_sections(), &out->sections);
}

// The oneof member `In` of `message` as one alternative of a variant.
template <typename Variant, typename Struct, typename In>
Result<Variant> TakeAs(In message) {
  Struct value;
  STOKER_RETURN_IF_ERROR(Take(message, &value));
  return Variant(std::move(value));
}

}  // namespace

Result<Hello> DecodeHello(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::Hello>("hello", bytes));
  Hello out;
  out.protocol_version = in.protocol_version();
  out.pid = in.pid();
  STOKER_RETURN_IF_ERROR(TakeText("hello.daemon_version", in.mutable_daemon_version(),
                                  kMaxNameBytes, &out.daemon_version));
  STOKER_RETURN_IF_ERROR(TakeText("hello.compiler_epoch", in.mutable_compiler_epoch(),
                                  kMaxNameBytes, &out.compiler_epoch));
  STOKER_RETURN_IF_ERROR(
      TakeTexts("hello.target_kinds", in.mutable_target_kinds(), &out.target_kinds));
  return out;
}

Result<ErrorReply> DecodeErrorReply(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::ErrorReply>("error", bytes));
  ErrorReply out;
  STOKER_RETURN_IF_ERROR(Take(&in, &out));
  return out;
}

Result<LookupRequest> DecodeLookupRequest(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::LookupRequest>("lookup", bytes));
  LookupRequest out;
  STOKER_RETURN_IF_ERROR(TakeNamespace("lookup.namespace", in.mutable_namespace_(), &out.ns));
  STOKER_RETURN_IF_ERROR(TakeDigest("lookup.request_key", in.request_key(), &out.request_key));
  STOKER_RETURN_IF_ERROR(
      TakeOptionalDigest("lookup.graph_digest", in.graph_digest(), &out.graph_digest));
  STOKER_RETURN_IF_ERROR(TakeDigests("lookup.have_kernels", in.have_kernels(), &out.have_kernels));
  STOKER_RETURN_IF_ERROR(CheckSize("lookup.fields", static_cast<std::size_t>(in.fields_size()),
                                   kMaxKeyFields, "fields"));
  for (pb::KeyField& field : *in.mutable_fields()) {
    KeyField& added = out.fields.emplace_back();
    STOKER_RETURN_IF_ERROR(
        TakeText("lookup.fields.tag", field.mutable_tag(), kMaxNameBytes, &added.tag));
    STOKER_RETURN_IF_ERROR(
        TakeText("lookup.fields.text", field.mutable_text(), kMaxTextBytes, &added.text));
    STOKER_RETURN_IF_ERROR(TakeDigest("lookup.fields.digest", field.digest(), &added.digest));
  }
  return out;
}

Result<Miss> DecodeMiss(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::Miss>("miss", bytes));
  Miss out;
  out.graph_known = in.graph_known();
  STOKER_RETURN_IF_ERROR(TakeText("miss.reason", in.mutable_reason(), kMaxTextBytes, &out.reason));
  return out;
}

Result<Bundle> DecodeBundle(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::Bundle>("bundle", bytes));
  Bundle out;
  STOKER_RETURN_IF_ERROR(Take(&in, &out));
  return out;
}

Result<CompileCall> DecodeCompileCall(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::CompileCall>("compile", bytes));
  CompileCall out;
  STOKER_RETURN_IF_ERROR(Take(&in, &out));
  return out;
}

Result<CompileEvent> DecodeCompileEvent(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::CompileEvent>("event", bytes));
  switch (in.event_case()) {
    case pb::CompileEvent::kProgress:
      return TakeAs<CompileEvent, Progress>(in.mutable_progress());
    case pb::CompileEvent::kBundle:
      return TakeAs<CompileEvent, Bundle>(in.mutable_bundle());
    case pb::CompileEvent::kError:
      return TakeAs<CompileEvent, ErrorReply>(in.mutable_error());
    case pb::CompileEvent::EVENT_NOT_SET:
      break;
  }
  return Wrong("event", "is of no kind that this side knows.");
}

Result<Report> DecodeReport(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::Report>("report", bytes));
  Report out;
  STOKER_RETURN_IF_ERROR(TakeNamespace("report.namespace", in.mutable_namespace_(), &out.ns));
  STOKER_RETURN_IF_ERROR(
      CheckSize("report.counters", in.counters().size(), kMaxCounters, "counters"));
  for (const auto& [name, value] : in.counters()) {
    STOKER_RETURN_IF_ERROR(CheckSize("report.counters", name.size(), kMaxNameBytes, "bytes"));
    if (!std::isfinite(value) || value < 0) {
      return Wrong("report.counters", "has " + name + " = " + std::to_string(value) +
                                          "; a counter is finite and not negative.");
    }
    out.counters.emplace(name, value);
  }
  STOKER_RETURN_IF_ERROR(
      CheckSize("report.fallback_ops", in.fallback_ops().size(), kMaxCounters, "ops"));
  for (const auto& [name, count] : in.fallback_ops()) {
    STOKER_RETURN_IF_ERROR(CheckSize("report.fallback_ops", name.size(), kMaxNameBytes, "bytes"));
    out.fallback_ops.emplace(name, count);
  }
  return out;
}

Result<ListRequest> DecodeListRequest(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::ListRequest>("list", bytes));
  ListRequest out;
  STOKER_RETURN_IF_ERROR(TakeNamespaceOrAll("list.namespace", in.mutable_namespace_(), &out.ns));
  STOKER_RETURN_IF_ERROR(TakeText("list.kind", in.mutable_kind(), kMaxNameBytes, &out.kind));
  STOKER_RETURN_IF_ERROR(CheckSize("list.limit", in.limit(), kMaxListEntries, "entries"));
  out.limit = in.limit();
  return out;
}

Result<ListReply> DecodeListReply(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::ListReply>("list", bytes));
  STOKER_RETURN_IF_ERROR(CheckSize("list.entries", static_cast<std::size_t>(in.entries_size()),
                                   kMaxListEntries, "entries"));
  ListReply out;
  for (pb::ListEntry& entry : *in.mutable_entries()) {
    ListEntry& added = out.entries.emplace_back();
    STOKER_RETURN_IF_ERROR(TakeDigest("list.entries.key", entry.key(), &added.key));
    STOKER_RETURN_IF_ERROR(
        TakeOptionalDigest("list.entries.artifact", entry.artifact(), &added.artifact));
    STOKER_RETURN_IF_ERROR(
        TakeNamespace("list.entries.namespace", entry.mutable_namespace_(), &added.ns));
    STOKER_RETURN_IF_ERROR(
        TakeText("list.entries.kind", entry.mutable_kind(), kMaxNameBytes, &added.kind));
    STOKER_RETURN_IF_ERROR(
        TakeText("list.entries.label", entry.mutable_label(), kMaxNameBytes, &added.label));
    STOKER_RETURN_IF_ERROR(
        TakeText("list.entries.target", entry.mutable_target(), kMaxNameBytes, &added.target));
    STOKER_RETURN_IF_ERROR(
        TakeSeconds("list.entries.created_unix_s", entry.created_unix_s(), &added.created_unix_s));
    STOKER_RETURN_IF_ERROR(TakeSeconds("list.entries.last_used_unix_s", entry.last_used_unix_s(),
                                       &added.last_used_unix_s));
    STOKER_RETURN_IF_ERROR(TakeSeconds("list.entries.compile_seconds", entry.compile_seconds(),
                                       &added.compile_seconds));
    added.size_bytes = entry.size_bytes();
    added.hits = entry.hits();
  }
  return out;
}

Result<InspectRequest> DecodeInspectRequest(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::InspectRequest>("inspect", bytes));
  InspectRequest out;
  STOKER_RETURN_IF_ERROR(TakeNamespaceOrAll("inspect.namespace", in.mutable_namespace_(), &out.ns));
  STOKER_RETURN_IF_ERROR(
      TakeKeyPrefix("inspect.key_prefix", in.mutable_key_prefix(), &out.key_prefix));
  STOKER_RETURN_IF_ERROR(TakeTexts("inspect.sections", in.mutable_sections(), &out.sections));
  return out;
}

Result<InspectReply> DecodeInspectReply(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::InspectReply>("inspect", bytes));
  InspectReply out;
  STOKER_RETURN_IF_ERROR(TakeSections("inspect.sections", in.mutable_sections(), &out.sections));
  return out;
}

Result<ExplainRequest> DecodeExplainRequest(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::ExplainRequest>("explain", bytes));
  ExplainRequest out;
  STOKER_RETURN_IF_ERROR(TakeNamespaceOrAll("explain.namespace", in.mutable_namespace_(), &out.ns));
  STOKER_RETURN_IF_ERROR(TakeKeyPrefix("explain.key_a", in.mutable_key_a(), &out.key_a));
  STOKER_RETURN_IF_ERROR(TakeKeyPrefix("explain.key_b", in.mutable_key_b(), &out.key_b));
  return out;
}

Result<ExplainReply> DecodeExplainReply(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::ExplainReply>("explain", bytes));
  ExplainReply out;
  for (pb::ExplainReply::Difference& difference : *in.mutable_differences()) {
    ExplainReply::Difference& added = out.differences.emplace_back();
    STOKER_RETURN_IF_ERROR(
        TakeText("explain.differences.tag", difference.mutable_tag(), kMaxNameBytes, &added.tag));
    STOKER_RETURN_IF_ERROR(
        TakeText("explain.differences.a", difference.mutable_a(), kMaxTextBytes, &added.a));
    STOKER_RETURN_IF_ERROR(
        TakeText("explain.differences.b", difference.mutable_b(), kMaxTextBytes, &added.b));
  }
  return out;
}

Result<WorkerRequest> DecodeWorkerRequest(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::WorkerRequest>("work", bytes));
  WorkerRequest out;
  STOKER_RETURN_IF_ERROR(Take(in.mutable_call(), &out.call));
  if (out.call.graph.empty()) return Wrong("work.call.graph", "is empty.");
  STOKER_RETURN_IF_ERROR(
      TakeTexts("work.inspect_sections", in.mutable_inspect_sections(), &out.inspect_sections));
  return out;
}

Result<WorkerEvent> DecodeWorkerEvent(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::WorkerEvent>("event", bytes));
  switch (in.event_case()) {
    case pb::WorkerEvent::kProgress:
      return TakeAs<WorkerEvent, Progress>(in.mutable_progress());
    case pb::WorkerEvent::kQuery:
      return TakeAs<WorkerEvent, KernelQuery>(in.query());
    case pb::WorkerEvent::kDone:
      return TakeAs<WorkerEvent, WorkerDone>(in.mutable_done());
    case pb::WorkerEvent::kError:
      return TakeAs<WorkerEvent, ErrorReply>(in.mutable_error());
    case pb::WorkerEvent::EVENT_NOT_SET:
      break;
  }
  return Wrong("event", "is of no kind that this side knows.");
}

Result<WorkerKernelReply> DecodeWorkerKernelReply(std::string_view bytes) {
  STOKER_TRY(auto in, Parse<pb::WorkerKernelReply>("kernels", bytes));
  STOKER_RETURN_IF_ERROR(
      CheckSize("kernels", static_cast<std::size_t>(in.kernels_size()), kMaxDigests, "kernels"));
  WorkerKernelReply out;
  for (const pb::WorkerKernelReply::Known& known : in.kernels()) {
    WorkerKernelReply::Known& added = out.kernels.emplace_back();
    STOKER_RETURN_IF_ERROR(TakeDigest("kernels.kernel_key", known.kernel_key(), &added.kernel_key));
    STOKER_RETURN_IF_ERROR(TakeOptionalDigest("kernels.blob", known.blob(), &added.blob));
    added.size_bytes = known.size_bytes();
  }
  return out;
}

}  // namespace stoker::wire
