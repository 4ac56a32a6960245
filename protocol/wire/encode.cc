#include <span>

#include "protocol/wire/messages.h"
#include "protocol/wire/utf8.h"
#include "stoker.pb.h"

namespace stoker::wire {
namespace {

// Strings for people pass through ToValidUtf8: they may quote what a user or a peer sent.

void SetDigest(const Digest& digest, std::string* out) { *out = std::string(digest.AsBytes()); }

void SetDigests(std::span<const Digest> digests,
                google::protobuf::RepeatedPtrField<std::string>* out) {
  out->Reserve(static_cast<int>(digests.size()));
  for (const Digest& digest : digests) SetDigest(digest, out->Add());
}

void SetBlobs(std::span<const Blob> blobs, google::protobuf::RepeatedPtrField<pb::Blob>* out) {
  for (const Blob& blob : blobs) {
    pb::Blob* message = out->Add();
    SetDigest(blob.digest, message->mutable_digest());
    message->set_data(blob.data);
  }
}

void SetSections(std::span<const Section> sections,
                 google::protobuf::RepeatedPtrField<pb::Section>* out) {
  for (const Section& section : sections) {
    pb::Section* message = out->Add();
    message->set_name(ToValidUtf8(section.name));
    message->set_text(ToValidUtf8(section.text));
  }
}

void Set(const ErrorReply& reply, pb::ErrorReply* out) {
  out->set_code(std::string(ErrorCodeName(reply.code)));
  out->set_message(ToValidUtf8(reply.message));
  out->set_field(ToValidUtf8(reply.field));
}

void Set(const Progress& progress, pb::Progress* out) {
  out->set_stage(ToValidUtf8(progress.stage));
  out->set_done(progress.done);
  out->set_total(progress.total);
  out->set_detail(ToValidUtf8(progress.detail));
  out->set_elapsed_seconds(progress.elapsed_seconds);
}

void Set(const Bundle& bundle, pb::Bundle* out) {
  out->set_artifact(bundle.artifact);
  SetBlobs(bundle.blobs, out->mutable_blobs());
  out->set_source(bundle.source);
  out->set_compile_seconds(bundle.compile_seconds);
}

void Set(const ShapeSignature& signature, pb::ShapeSignature* out) {
  for (const SymbolFact& fact : signature.symbols) {
    pb::SymbolFact* message = out->add_symbols();
    message->set_symbol(fact.symbol);
    message->set_min(fact.min);
    message->set_max(fact.max);
    message->set_divisible_by(fact.divisible_by);
    message->set_hint(fact.hint);
  }
  for (const InputFact& fact : signature.inputs) {
    out->add_input_alignment_bytes(fact.alignment_bytes);
  }
}

void Set(const CompileOptions& options, pb::CompileOptions* out) {
  out->set_mode(static_cast<std::uint32_t>(options.mode));
  out->set_numerics(static_cast<std::uint32_t>(options.numerics));
  out->set_verify(options.verify);
  out->set_threads(options.threads);
  out->set_dump_debug(options.dump_debug.value);
}

void Set(const CompileCall& call, pb::CompileCall* out) {
  out->set_namespace_(call.ns);
  SetDigest(call.request_key, out->mutable_request_key());
  out->set_graph(call.graph);
  SetDigest(call.graph_digest, out->mutable_graph_digest());
  out->set_graph_name(ToValidUtf8(call.graph_name));
  Set(call.signature, out->mutable_signature());
  out->set_target(call.target.ToString());
  Set(call.options, out->mutable_options());
  out->set_compiler_epoch(ToValidUtf8(call.compiler_epoch));
  SetDigests(call.have_kernels, out->mutable_have_kernels());
}

void Set(const KernelQuery& query, pb::WorkerEvent::KernelQuery* out) {
  SetDigests(query.kernel_keys, out->mutable_kernel_keys());
}

void Set(const WorkerDone& done, pb::WorkerEvent::Done* out) {
  out->set_artifact(done.artifact);
  for (const WorkerDone::CompiledKernel& kernel : done.kernels) {
    pb::WorkerEvent::CompiledKernel* message = out->add_kernels();
    SetDigest(kernel.kernel_key, message->mutable_kernel_key());
    message->set_data(kernel.data);
  }
  SetBlobs(done.constants, out->mutable_constants());
  out->set_compile_seconds(done.compile_seconds);
  out->set_unique_kernels(done.unique_kernels);
  SetSections(done.sections, out->mutable_sections());
}

template <typename Message, typename Struct>
std::string Serialize(const Struct& value) {
  Message message;
  Set(value, &message);
  return message.SerializeAsString();
}

}  // namespace

std::string EncodeHello(const Hello& message) {
  pb::Hello out;
  out.set_protocol_version(message.protocol_version);
  out.set_daemon_version(ToValidUtf8(message.daemon_version));
  out.set_compiler_epoch(ToValidUtf8(message.compiler_epoch));
  out.set_pid(message.pid);
  for (const std::string& kind : message.target_kinds) out.add_target_kinds(ToValidUtf8(kind));
  return out.SerializeAsString();
}

std::string EncodeErrorReply(const ErrorReply& message) {
  return Serialize<pb::ErrorReply>(message);
}

std::string EncodeLookupRequest(const LookupRequest& message) {
  pb::LookupRequest out;
  out.set_namespace_(message.ns);
  SetDigest(message.request_key, out.mutable_request_key());
  SetDigest(message.graph_digest, out.mutable_graph_digest());
  SetDigests(message.have_kernels, out.mutable_have_kernels());
  for (const KeyField& field : message.fields) {
    pb::KeyField* added = out.add_fields();
    added->set_tag(ToValidUtf8(field.tag));
    added->set_text(ToValidUtf8(field.text));
    SetDigest(field.digest, added->mutable_digest());
  }
  return out.SerializeAsString();
}

std::string EncodeMiss(const Miss& message) {
  pb::Miss out;
  out.set_graph_known(message.graph_known);
  out.set_reason(ToValidUtf8(message.reason));
  return out.SerializeAsString();
}

std::string EncodeBundle(const Bundle& message) { return Serialize<pb::Bundle>(message); }

std::string EncodeCompileCall(const CompileCall& message) {
  return Serialize<pb::CompileCall>(message);
}

std::string EncodeCompileEvent(const CompileEvent& message) {
  pb::CompileEvent out;
  if (const auto* progress = std::get_if<Progress>(&message)) {
    Set(*progress, out.mutable_progress());
  } else if (const auto* bundle = std::get_if<Bundle>(&message)) {
    Set(*bundle, out.mutable_bundle());
  } else {
    Set(std::get<ErrorReply>(message), out.mutable_error());
  }
  return out.SerializeAsString();
}

std::string EncodeReport(const Report& message) {
  pb::Report out;
  out.set_namespace_(message.ns);
  for (const auto& [name, value] : message.counters) {
    (*out.mutable_counters())[ToValidUtf8(name)] = value;
  }
  for (const auto& [name, count] : message.fallback_ops) {
    (*out.mutable_fallback_ops())[ToValidUtf8(name)] = count;
  }
  return out.SerializeAsString();
}

std::string EncodeListRequest(const ListRequest& message) {
  pb::ListRequest out;
  out.set_namespace_(message.ns);
  out.set_kind(ToValidUtf8(message.kind));
  out.set_limit(message.limit);
  return out.SerializeAsString();
}

std::string EncodeListReply(const ListReply& message) {
  pb::ListReply out;
  for (const ListEntry& entry : message.entries) {
    pb::ListEntry* added = out.add_entries();
    SetDigest(entry.key, added->mutable_key());
    SetDigest(entry.artifact, added->mutable_artifact());
    added->set_namespace_(entry.ns);
    added->set_kind(ToValidUtf8(entry.kind));
    added->set_label(ToValidUtf8(entry.label));
    added->set_size_bytes(entry.size_bytes);
    added->set_created_unix_s(entry.created_unix_s);
    added->set_last_used_unix_s(entry.last_used_unix_s);
    added->set_compile_seconds(entry.compile_seconds);
    added->set_hits(entry.hits);
    added->set_target(ToValidUtf8(entry.target));
  }
  return out.SerializeAsString();
}

std::string EncodeInspectRequest(const InspectRequest& message) {
  pb::InspectRequest out;
  out.set_namespace_(message.ns);
  out.set_key_prefix(ToValidUtf8(message.key_prefix));
  for (const std::string& section : message.sections) out.add_sections(ToValidUtf8(section));
  return out.SerializeAsString();
}

std::string EncodeInspectReply(const InspectReply& message) {
  pb::InspectReply out;
  SetSections(message.sections, out.mutable_sections());
  return out.SerializeAsString();
}

std::string EncodeExplainRequest(const ExplainRequest& message) {
  pb::ExplainRequest out;
  out.set_namespace_(message.ns);
  out.set_key_a(ToValidUtf8(message.key_a));
  out.set_key_b(ToValidUtf8(message.key_b));
  return out.SerializeAsString();
}

std::string EncodeExplainReply(const ExplainReply& message) {
  pb::ExplainReply out;
  for (const ExplainReply::Difference& difference : message.differences) {
    pb::ExplainReply::Difference* added = out.add_differences();
    added->set_tag(ToValidUtf8(difference.tag));
    added->set_a(ToValidUtf8(difference.a));
    added->set_b(ToValidUtf8(difference.b));
  }
  return out.SerializeAsString();
}

std::string EncodeWorkerRequest(const WorkerRequest& message) {
  pb::WorkerRequest out;
  Set(message.call, out.mutable_call());
  for (const std::string& section : message.inspect_sections) {
    out.add_inspect_sections(ToValidUtf8(section));
  }
  return out.SerializeAsString();
}

std::string EncodeWorkerEvent(const WorkerEvent& message) {
  pb::WorkerEvent out;
  if (const auto* progress = std::get_if<Progress>(&message)) {
    Set(*progress, out.mutable_progress());
  } else if (const auto* query = std::get_if<KernelQuery>(&message)) {
    Set(*query, out.mutable_query());
  } else if (const auto* done = std::get_if<WorkerDone>(&message)) {
    Set(*done, out.mutable_done());
  } else {
    Set(std::get<ErrorReply>(message), out.mutable_error());
  }
  return out.SerializeAsString();
}

std::string EncodeWorkerKernelReply(const WorkerKernelReply& message) {
  pb::WorkerKernelReply out;
  for (const WorkerKernelReply::Known& known : message.kernels) {
    pb::WorkerKernelReply::Known* added = out.add_kernels();
    SetDigest(known.kernel_key, added->mutable_kernel_key());
    if (!known.blob.IsZero()) SetDigest(known.blob, added->mutable_blob());
    added->set_size_bytes(known.size_bytes);
  }
  return out.SerializeAsString();
}

}  // namespace stoker::wire
