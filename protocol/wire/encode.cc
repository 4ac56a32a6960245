// Every message as bytes; stoker.proto names the field numbers.
#include <span>

#include "protocol/wire/messages.h"
#include "protocol/wire/proto/proto_writer.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker::wire {
namespace {

// Strings for people pass through ToValidUtf8: they may quote what a user or a peer sent.

void WriteDigests(ProtoWriter& out, std::uint32_t field, std::span<const Digest> digests) {
  for (const Digest& digest : digests) out.Element(field, digest.AsBytes());
}

void WriteText(ProtoWriter& out, std::uint32_t field, std::string_view text) {
  out.Bytes(field, ToValidUtf8(text));
}

void WriteTexts(ProtoWriter& out, std::uint32_t field, std::span<const std::string> texts) {
  for (const std::string& text : texts) out.Element(field, ToValidUtf8(text));
}

// What stands in repeated fields; WriteEach needs them declared.
void Write(ProtoWriter& out, const Blob& element);
void Write(ProtoWriter& out, const Section& element);
void Write(ProtoWriter& out, const KeyField& element);
void Write(ProtoWriter& out, const ListEntry& element);
void Write(ProtoWriter& out, const ExplainReply::Difference& element);
void Write(ProtoWriter& out, const UpkeepReport::Count& element);
void Write(ProtoWriter& out, const Span& element);
void Write(ProtoWriter& out, const WorkerDone::CompiledKernel& element);
void Write(ProtoWriter& out, const WorkerKernelReply::Known& element);

// The elements of a repeated message field.
template <typename Struct>
void WriteEach(ProtoWriter& out, std::uint32_t field, const std::vector<Struct>& elements) {
  for (const Struct& element : elements) {
    out.Message(field, [&](ProtoWriter& nested) { Write(nested, element); });
  }
}

void Write(ProtoWriter& out, const Blob& blob) {
  WriteDigest(out, 1, blob.digest);
  out.Bytes(2, blob.data);
}

void Write(ProtoWriter& out, const Section& section) {
  WriteText(out, 1, section.name);
  WriteText(out, 2, section.text);
}

void Write(ProtoWriter& out, const KeyField& field) {
  WriteText(out, 1, field.tag);
  WriteText(out, 2, field.text);
  WriteDigest(out, 3, field.digest);
}

void Write(ProtoWriter& out, const ErrorReply& reply) {
  out.Bytes(1, ErrorCodeName(reply.code));
  WriteText(out, 2, reply.message);
  WriteText(out, 3, reply.field);
}

void Write(ProtoWriter& out, const Progress& progress) {
  WriteText(out, 1, progress.stage);
  out.UInt(2, progress.done);
  out.UInt(3, progress.total);
  WriteText(out, 4, progress.detail);
  out.Double(5, progress.elapsed_seconds);
}

void Write(ProtoWriter& out, const UpkeepReport::Count& count) {
  WriteText(out, 1, count.name);
  out.UInt(2, count.value);
}

void Write(ProtoWriter& out, const UpkeepReport& report) { WriteEach(out, 1, report.counts); }

void Write(ProtoWriter& out, const Bundle& bundle) {
  out.Bytes(1, bundle.artifact);
  WriteEach(out, 2, bundle.blobs);
  WriteText(out, 3, bundle.source);
  out.Double(4, bundle.compile_seconds);
  out.Bytes(5, bundle.request);
}

void Write(ProtoWriter& out, const CompileOptions& options) {
  out.UInt(2, static_cast<std::uint32_t>(options.numerics));
}

void Write(ProtoWriter& out, const CompileCall& call) {
  out.Bytes(1, call.ns);
  WriteDigest(out, 2, call.request_key);
  out.Bytes(3, call.graph);
  WriteDigest(out, 4, call.graph_digest);
  WriteText(out, 5, call.graph_name);
  out.Bytes(7, call.target.ToString());
  out.Message(8, [&](ProtoWriter& nested) { Write(nested, call.options); });
  WriteText(out, 9, call.compiler_epoch);
  WriteDigests(out, 10, call.have_kernels);
  out.UInt(11, call.store_only ? 1 : 0);
}

void Write(ProtoWriter& out, const Hello& hello) {
  out.UInt(1, hello.protocol_version);
  WriteText(out, 2, hello.daemon_version);
  WriteText(out, 3, hello.compiler_epoch);
  out.UInt(4, hello.pid);
  WriteTexts(out, 5, hello.target_kinds);
  for (const PublicKey& key : hello.signing_keys) out.Element(6, key.AsBytes());
}

void Write(ProtoWriter& out, const LookupRequest& request) {
  out.Bytes(1, request.ns);
  WriteDigest(out, 2, request.request_key);
  WriteDigest(out, 3, request.graph_digest);
  WriteDigests(out, 4, request.have_kernels);
  WriteEach(out, 5, request.fields);
  out.UInt(6, request.with_request ? 1 : 0);
  out.UInt(7, request.probe ? 1 : 0);
}

void Write(ProtoWriter& out, const Miss& miss) {
  out.UInt(1, miss.graph_known ? 1 : 0);
  WriteText(out, 2, miss.reason);
  out.UInt(3, miss.untrusted_writers);
}

void Write(ProtoWriter& out, const Report& report) {
  out.Bytes(1, report.ns);
  for (const auto& [name, value] : report.counters) {
    out.Message(2, [&](ProtoWriter& entry) {
      WriteText(entry, 1, name);
      entry.Double(2, value);
    });
  }
  for (const auto& [name, count] : report.fallback_ops) {
    out.Message(3, [&](ProtoWriter& entry) {
      WriteText(entry, 1, name);
      entry.UInt(2, count);
    });
  }
}

void Write(ProtoWriter& out, const ListRequest& request) {
  out.Bytes(1, request.ns);
  WriteText(out, 2, request.kind);
  out.UInt(3, request.limit);
  out.UInt(4, request.stale ? 1 : 0);
}

void Write(ProtoWriter& out, const ListEntry& entry) {
  WriteDigest(out, 1, entry.key);
  WriteDigest(out, 2, entry.artifact);
  out.Bytes(3, entry.ns);
  WriteText(out, 4, entry.kind);
  WriteText(out, 5, entry.label);
  out.UInt(6, entry.size_bytes);
  out.Double(7, entry.created_unix_s);
  out.Double(8, entry.last_used_unix_s);
  out.Double(9, entry.compile_seconds);
  out.UInt(10, entry.hits);
  WriteText(out, 11, entry.target);
  out.Bytes(12, entry.request);
  WriteText(out, 13, entry.writer);
}

void Write(ProtoWriter& out, const ListReply& reply) { WriteEach(out, 1, reply.entries); }

void Write(ProtoWriter& out, const InspectRequest& request) {
  out.Bytes(1, request.ns);
  WriteText(out, 2, request.key_prefix);
  WriteTexts(out, 3, request.sections);
}

void Write(ProtoWriter& out, const InspectReply& reply) { WriteEach(out, 1, reply.sections); }

void Write(ProtoWriter& out, const ExplainRequest& request) {
  out.Bytes(1, request.ns);
  WriteText(out, 2, request.key_a);
  WriteText(out, 3, request.key_b);
}

void Write(ProtoWriter& out, const ExplainReply::Difference& difference) {
  WriteText(out, 1, difference.tag);
  WriteText(out, 2, difference.a);
  WriteText(out, 3, difference.b);
}

void Write(ProtoWriter& out, const ExplainReply& reply) { WriteEach(out, 1, reply.differences); }

void Write(ProtoWriter& out, const WorkerRequest& request) {
  out.Message(1, [&](ProtoWriter& nested) { Write(nested, request.call); });
  WriteTexts(out, 2, request.inspect_sections);
  WriteText(out, 3, request.request_id);
}

void Write(ProtoWriter& out, const WorkerReady& ready) {
  WriteTexts(out, 1, ready.protections);
  WriteTexts(out, 2, ready.target_kinds);
}

void Write(ProtoWriter& out, const KernelQuery& query) { WriteDigests(out, 1, query.kernel_keys); }

void Write(ProtoWriter& out, const WorkerDone::CompiledKernel& kernel) {
  WriteDigest(out, 1, kernel.kernel_key);
  out.Bytes(2, kernel.data);
}

void Write(ProtoWriter& out, const Span& span) {
  WriteText(out, 1, span.name);
  WriteText(out, 2, span.detail);
  out.UInt(3, span.start_us);
  out.UInt(4, span.duration_us);
  out.UInt(5, span.thread);
}

void Write(ProtoWriter& out, const WorkerDone& done) {
  out.Bytes(1, done.artifact);
  WriteEach(out, 2, done.kernels);
  WriteEach(out, 3, done.constants);
  out.Double(4, done.compile_seconds);
  out.UInt(5, done.unique_kernels);
  WriteEach(out, 6, done.sections);
  WriteEach(out, 7, done.spans);
}

void Write(ProtoWriter& out, const WorkerKernelReply::Known& known) {
  WriteDigest(out, 1, known.kernel_key);
  if (!known.blob.IsZero()) WriteDigest(out, 2, known.blob);
  out.UInt(3, known.size_bytes);
}

void Write(ProtoWriter& out, const WorkerKernelReply& reply) { WriteEach(out, 1, reply.kernels); }

// The alternatives of an event have the field numbers 1, 2, ... in their order.
template <typename... Alternatives>
void Write(ProtoWriter& out, const std::variant<Alternatives...>& event) {
  const auto field = static_cast<std::uint32_t>(event.index()) + 1;
  out.Message(field, [&](ProtoWriter& nested) {
    std::visit([&](const auto& value) { Write(nested, value); }, event);
  });
}

template <typename Struct>
std::string Encode(const Struct& message) {
  ProtoWriter out;
  Write(out, message);
  return std::move(out).Take();
}

}  // namespace

std::string EncodeHello(const Hello& message) { return Encode(message); }
std::string EncodeErrorReply(const ErrorReply& message) { return Encode(message); }
std::string EncodeLookupRequest(const LookupRequest& message) { return Encode(message); }
std::string EncodeMiss(const Miss& message) { return Encode(message); }
std::string EncodeBundle(const Bundle& message) { return Encode(message); }
std::string EncodeCompileCall(const CompileCall& message) { return Encode(message); }
std::string EncodeCompileEvent(const CompileEvent& message) { return Encode(message); }
std::string EncodeUpkeepEvent(const UpkeepEvent& message) { return Encode(message); }
std::string EncodeReport(const Report& message) { return Encode(message); }
std::string EncodeListRequest(const ListRequest& message) { return Encode(message); }
std::string EncodeListReply(const ListReply& message) { return Encode(message); }
std::string EncodeInspectRequest(const InspectRequest& message) { return Encode(message); }
std::string EncodeInspectReply(const InspectReply& message) { return Encode(message); }
std::string EncodeExplainRequest(const ExplainRequest& message) { return Encode(message); }
std::string EncodeExplainReply(const ExplainReply& message) { return Encode(message); }
std::string EncodeWorkerRequest(const WorkerRequest& message) { return Encode(message); }
std::string EncodeWorkerEvent(const WorkerEvent& message) { return Encode(message); }
std::string EncodeWorkerKernelReply(const WorkerKernelReply& message) { return Encode(message); }

}  // namespace stoker::wire
