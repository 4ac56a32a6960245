// The messages of the /v1 endpoints and of the compile worker, as plain structs. WIRE.md describes
// the conversation; stoker.proto the bytes.
//
// EncodeX never fails. DecodeX validates: enum codes, digest sizes, text forms, limits (limits.h);
// its errors start with "Field 'message.field'". What decodes is well formed, except Graph and
// Artifact bytes, which have decoders of their own (DecodeGraph, DecodeArtifact).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"
#include "protocol/key/compile_options.h"
#include "protocol/key/compile_request.h"
#include "protocol/key/target.h"

namespace stoker::wire {

// Namespaces are 1 to kMaxNamespaceBytes of [a-z0-9._-]. An empty one decodes as this, except in
// List, Inspect and Explain requests, where empty means all.
inline constexpr std::string_view kDefaultNamespace = "default";

// GET /v1/hello
struct Hello {
  std::uint32_t protocol_version = 0;
  std::string daemon_version;
  std::string compiler_epoch;
  std::uint64_t pid = 0;
  std::vector<std::string> target_kinds;  // "cpu", "cuda"; empty: it does not know yet.
  std::vector<PublicKey> signing_keys;    // What signs artifacts now, the newest first.
};

// Body of every 4xx and 5xx.
struct ErrorReply {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string field;  // The field of the request that is wrong; empty: none in particular.
};
// `field` is taken from a message that has "Field 'x'" in it, as the decoders' errors do.
ErrorReply ErrorReplyOf(const Error& error);
Error ErrorOf(const ErrorReply& reply);

struct Blob {
  Digest digest;  // Claimed by the sender: compare with Sha256Of(data) where trust begins.
  std::string data;
};

// POST /v1/lookup -> 200 Bundle or 404 Miss.
struct LookupRequest {
  std::string ns{kDefaultNamespace};
  Digest request_key;
  Digest graph_digest;
  std::vector<Digest> have_kernels;  // Blob digests the client holds already.
  std::vector<KeyField> fields;      // FieldsOf the request, so that a miss can be explained.
  bool with_request = false;         // Bundle::request is wanted, too.
  bool probe = false;  // Is it stored whole? Nothing of it is sent, and nothing is counted.
};

struct Miss {
  bool graph_known = false;  // The graph need not be sent.
  std::string reason;        // For people.
  // Of captures: how many writers have some under the key that were not asked for.
  std::uint32_t untrusted_writers = 0;
};

// An artifact and those of its blobs that the client does not have.
struct Bundle {
  std::string artifact;  // EncodeArtifact.
  std::vector<Blob> blobs;
  std::string source;            // memory, disk, shared, compiled, joined
  double compile_seconds = 0.0;  // What the compile cost when it was made.
  std::string request{};  // EncodeCompileCall with the graph; empty: not asked for, or not kept.
};

// POST /v1/compile -> 200 and a chunked stream of framed CompileEvents (framing.h).
struct CompileCall {
  std::string ns{kDefaultNamespace};
  Digest request_key;
  std::string graph;    // EncodeGraph; empty: graph_digest names one the daemon has.
  Digest graph_digest;  // Zero only when `graph` is not empty.
  std::string graph_name;
  Target target;
  CompileOptions options;
  std::string compiler_epoch;
  std::vector<Digest> have_kernels;
  // Nothing of the artifact is sent; that it could not be stored is an error.
  bool store_only = false;
};

struct Progress {
  std::string stage;  // queued, fusing, compiling, storing
  std::uint32_t done = 0;
  std::uint32_t total = 0;
  std::string detail;
  double elapsed_seconds = 0.0;
};

// The last event of a stream is a Bundle or an ErrorReply.
using CompileEvent = std::variant<Progress, Bundle, ErrorReply>;

// What work on the cache as a whole has done, in the order in which to tell it.
struct UpkeepReport {
  struct Count {
    std::string name;
    std::uint64_t value = 0;
  };
  std::vector<Count> counts;
};

// Of the streams of /v1/cache/gc, purge and verify (upkeep_messages.h). The last event is an
// UpkeepReport or an ErrorReply.
using UpkeepEvent = std::variant<Progress, UpkeepReport, ErrorReply>;

// Counters of a Report that the daemon keeps apart: packed weights of the client's host that were
// found in a file, and that had to be made.
inline constexpr std::string_view kPreparedFound = "prepared.found";
inline constexpr std::string_view kPreparedMade = "prepared.made";

// POST /v1/report: what a client did, for statistics.
struct Report {
  std::string ns{kDefaultNamespace};
  std::map<std::string, double> counters;
  std::map<std::string, std::uint64_t> fallback_ops;
};

// POST /v1/list -> ListReply
struct ListRequest {
  std::string ns;
  std::string kind;         // Empty: all. artifact, capture
  std::uint32_t limit = 0;  // 0: kMaxListEntries.
  bool stale = false;       // Only what another compiler made, most hits first, with its request.
};

struct ListEntry {
  Digest key;
  Digest artifact;
  std::string ns;
  std::string kind;
  std::string label;
  std::uint64_t size_bytes = 0;
  double created_unix_s = 0.0;
  double last_used_unix_s = 0.0;
  double compile_seconds = 0.0;
  std::uint64_t hits = 0;
  std::string target;
  std::string request{};  // EncodeCompileCall without the graph; of ListRequest::stale.
  std::string writer{};   // Of captures.
};

struct ListReply {
  std::vector<ListEntry> entries;
};

// A named piece of readable text.
struct Section {
  std::string name;  // graph, groups, loops, llvm, asm, plan
  std::string text;
};

// POST /v1/inspect -> InspectReply
struct InspectRequest {
  std::string ns;
  std::string key_prefix;             // Lowercase hexadecimal, 4 to 64 digits.
  std::vector<std::string> sections;  // Empty: all.
};

struct InspectReply {
  std::vector<Section> sections;
};

// POST /v1/explain -> ExplainReply
struct ExplainRequest {
  std::string ns;
  std::string key_a;  // Prefixes, as in InspectRequest.
  std::string key_b;
};

struct ExplainReply {
  struct Difference {
    std::string tag;
    std::string a;
    std::string b;
  };
  std::vector<Difference> differences;  // In the order of FieldsOf.
};

// Daemon and compile worker, framed, over a socket pair: the worker says that it is ready; then one
// WorkerRequest a job, and WorkerEvents; each KernelQuery is answered by one WorkerKernelReply;
// Done or ErrorReply ends the job.
struct WorkerRequest {
  CompileCall call;                           // With the graph.
  std::vector<std::string> inspect_sections;  // Not empty: fill Done::sections with these.
  std::string request_id;                     // Of the client's request, for what the worker logs.
};

struct KernelQuery {
  std::vector<Digest> kernel_keys;
};

// A step of a compile: where its time went.
struct Span {
  std::string name;
  std::string detail;
  std::uint64_t start_us = 0;  // Since the worker has the request.
  std::uint64_t duration_us = 0;
  std::uint32_t thread = 0;  // 0: the one that serves the request.
};

struct WorkerDone {
  struct CompiledKernel {
    Digest kernel_key;
    std::string data;
  };
  std::string artifact;
  std::vector<CompiledKernel> kernels;  // Those compiled now.
  std::vector<Blob> constants;
  double compile_seconds = 0.0;
  std::uint32_t unique_kernels = 0;
  std::vector<Section> sections;
  std::vector<Span> spans{};  // At most kMaxSpans, those of the compile that ended first.
};

struct WorkerReady {
  std::vector<std::string>
      protections;  // In force: names of daemon/service/worker/worker_sandbox.h.
  std::vector<std::string> target_kinds;  // "cpu", "cuda": has what it takes to compile for these.
};

using WorkerEvent = std::variant<Progress, KernelQuery, WorkerDone, ErrorReply, WorkerReady>;

struct WorkerKernelReply {
  struct Known {
    Digest kernel_key;
    Digest blob;  // Zero: not stored.
    std::uint64_t size_bytes = 0;
  };
  std::vector<Known> kernels;  // One per queried key, in order.
};

std::string EncodeHello(const Hello& message);
std::string EncodeErrorReply(const ErrorReply& message);
std::string EncodeLookupRequest(const LookupRequest& message);
std::string EncodeMiss(const Miss& message);
std::string EncodeBundle(const Bundle& message);
std::string EncodeCompileCall(const CompileCall& message);
std::string EncodeCompileEvent(const CompileEvent& message);
std::string EncodeUpkeepEvent(const UpkeepEvent& message);
std::string EncodeReport(const Report& message);
std::string EncodeListRequest(const ListRequest& message);
std::string EncodeListReply(const ListReply& message);
std::string EncodeInspectRequest(const InspectRequest& message);
std::string EncodeInspectReply(const InspectReply& message);
std::string EncodeExplainRequest(const ExplainRequest& message);
std::string EncodeExplainReply(const ExplainReply& message);
std::string EncodeWorkerRequest(const WorkerRequest& message);
std::string EncodeWorkerEvent(const WorkerEvent& message);
std::string EncodeWorkerKernelReply(const WorkerKernelReply& message);

Result<Hello> DecodeHello(std::string_view bytes);
Result<ErrorReply> DecodeErrorReply(std::string_view bytes);
Result<LookupRequest> DecodeLookupRequest(std::string_view bytes);
Result<Miss> DecodeMiss(std::string_view bytes);
Result<Bundle> DecodeBundle(std::string_view bytes);
Result<CompileCall> DecodeCompileCall(std::string_view bytes);
Result<CompileEvent> DecodeCompileEvent(std::string_view bytes);
Result<UpkeepEvent> DecodeUpkeepEvent(std::string_view bytes);
Result<Report> DecodeReport(std::string_view bytes);
Result<ListRequest> DecodeListRequest(std::string_view bytes);
Result<ListReply> DecodeListReply(std::string_view bytes);
Result<InspectRequest> DecodeInspectRequest(std::string_view bytes);
Result<InspectReply> DecodeInspectReply(std::string_view bytes);
Result<ExplainRequest> DecodeExplainRequest(std::string_view bytes);
Result<ExplainReply> DecodeExplainReply(std::string_view bytes);
Result<WorkerRequest> DecodeWorkerRequest(std::string_view bytes);
Result<WorkerEvent> DecodeWorkerEvent(std::string_view bytes);
Result<WorkerKernelReply> DecodeWorkerKernelReply(std::string_view bytes);

}  // namespace stoker::wire
