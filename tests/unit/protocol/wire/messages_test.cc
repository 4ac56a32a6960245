// Every message: what is encoded decodes to the same struct.
#include "protocol/wire/messages.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/wire/limits.h"

namespace stoker::wire {
namespace {

const Digest kA = Sha256Of("a");
const Digest kB = Sha256Of("b");

void ExpectEqual(const Blob& a, const Blob& b) {
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.data, b.data);
}

Bundle SampleBundle() {
  return {"artifact", {{kA, std::string("\0\xff", 2)}, {kB, ""}}, "compiled", 1.5, "a call"};
}

void ExpectSampleBundle(const Bundle& bundle) {
  const Bundle expected = SampleBundle();
  EXPECT_EQ(bundle.artifact, expected.artifact);
  ASSERT_EQ(bundle.blobs.size(), 2U);
  ExpectEqual(bundle.blobs[0], expected.blobs[0]);
  ExpectEqual(bundle.blobs[1], expected.blobs[1]);
  EXPECT_EQ(bundle.source, "compiled");
  EXPECT_EQ(bundle.compile_seconds, 1.5);
  EXPECT_EQ(bundle.request, "a call");
}

CompileCall SampleCall() {
  CompileCall call;
  call.ns = "team-a";
  call.request_key = kA;
  call.graph = "graph bytes";
  call.graph_digest = kB;
  call.graph_name = "model";
  call.target = Target::Parse("cpu/x86-64-v4+amx_bf16").value();
  call.options.numerics = Numerics::kMedium;
  call.compiler_epoch = "stoker-1;llvm-22.1.8";
  call.have_kernels = {kB, kA};
  call.store_only = true;
  return call;
}

void ExpectSampleCall(const CompileCall& call) {
  const CompileCall expected = SampleCall();
  EXPECT_EQ(call.ns, expected.ns);
  EXPECT_EQ(call.request_key, expected.request_key);
  EXPECT_EQ(call.graph, expected.graph);
  EXPECT_EQ(call.graph_digest, expected.graph_digest);
  EXPECT_EQ(call.graph_name, expected.graph_name);
  EXPECT_EQ(call.target, expected.target);
  EXPECT_EQ(call.options.numerics, expected.options.numerics);
  EXPECT_EQ(call.compiler_epoch, expected.compiler_epoch);
  EXPECT_EQ(call.have_kernels, expected.have_kernels);
  EXPECT_EQ(call.store_only, expected.store_only);
}

const Progress kProgress{"compiling", 3, 14, "matmul", 0.25};

void ExpectSampleProgress(const Progress& progress) {
  EXPECT_EQ(progress.stage, "compiling");
  EXPECT_EQ(progress.done, 3U);
  EXPECT_EQ(progress.total, 14U);
  EXPECT_EQ(progress.detail, "matmul");
  EXPECT_EQ(progress.elapsed_seconds, 0.25);
}

const PublicKey kKey = SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 'k'))->public_key();

TEST(Hello, RoundTrip) {
  const Hello hello =
      DecodeHello(EncodeHello({kProtocolVersion, "0.1.0", "stoker-1", 42, {"cpu", "cuda"}, {kKey}}))
          .value();
  EXPECT_EQ(hello.protocol_version, kProtocolVersion);
  EXPECT_EQ(hello.daemon_version, "0.1.0");
  EXPECT_EQ(hello.compiler_epoch, "stoker-1");
  EXPECT_EQ(hello.pid, 42U);
  EXPECT_EQ(hello.target_kinds, (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(hello.signing_keys, std::vector<PublicKey>{kKey});
  EXPECT_FALSE(
      DecodeHello(EncodeHello({1, "", "", 0, {}, std::vector<PublicKey>(kMaxSigningKeys + 1)}))
          .ok());
}

TEST(ErrorReply, RoundTripOfEveryCode) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const ErrorReply reply =
        DecodeErrorReply(EncodeErrorReply({code, "what failed", "a.field"})).value();
    EXPECT_EQ(reply.code, code);
    EXPECT_EQ(reply.message, "what failed");
    EXPECT_EQ(reply.field, "a.field");
  }
}

TEST(ErrorReplyOf, TakesTheFieldFromTheMessage) {
  const Error error =
      InvalidArgument("compile: Field 'options.numerics' is 9, which is no numerics.");
  const ErrorReply reply = ErrorReplyOf(error);
  EXPECT_EQ(reply.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(reply.field, "options.numerics");
  EXPECT_EQ(reply.message, error.message);
  EXPECT_EQ(ErrorReplyOf(Internal("no field here")).field, "");
  EXPECT_EQ(ErrorReplyOf(Internal("Field 'unfinished")).field, "");
  EXPECT_EQ(ErrorOf(reply).code, error.code);
  EXPECT_EQ(ErrorOf(reply).message, error.message);
}

TEST(ErrorReply, MessageThatQuotesForeignBytes_StillDecodes) {
  const ErrorReply reply =
      DecodeErrorReply(EncodeErrorReply({ErrorCode::kInternal, "bad: \xff\xfe", ""})).value();
  EXPECT_EQ(reply.message, "bad: ??");
}

TEST(LookupRequest, RoundTrip) {
  LookupRequest request;
  request.ns = "team-a";
  request.request_key = kA;
  request.graph_digest = kB;
  request.have_kernels = {kA, kB};
  request.fields = {{"graph", "text", kA}, {"options.numerics", "highest", kB}};
  const LookupRequest decoded = DecodeLookupRequest(EncodeLookupRequest(request)).value();
  EXPECT_EQ(decoded.ns, "team-a");
  EXPECT_EQ(decoded.request_key, kA);
  EXPECT_EQ(decoded.graph_digest, kB);
  EXPECT_EQ(decoded.have_kernels, request.have_kernels);
  ASSERT_EQ(decoded.fields.size(), 2U);
  EXPECT_EQ(decoded.fields[1].tag, "options.numerics");
  EXPECT_EQ(decoded.fields[1].text, "highest");
  EXPECT_EQ(decoded.fields[1].digest, kB);
  EXPECT_FALSE(decoded.with_request || decoded.probe);
  request.with_request = true;
  EXPECT_TRUE(DecodeLookupRequest(EncodeLookupRequest(request))->with_request);
  request.probe = true;
  EXPECT_TRUE(DecodeLookupRequest(EncodeLookupRequest(request))->probe);
}

TEST(LookupRequest, EmptyNamespace_IsTheDefaultOne) {
  LookupRequest request;
  request.ns = "";
  request.request_key = kA;
  EXPECT_EQ(DecodeLookupRequest(EncodeLookupRequest(request))->ns, "default");
}

TEST(Miss, RoundTrip) {
  const Miss miss = DecodeMiss(EncodeMiss({true, "no entry"})).value();
  EXPECT_TRUE(miss.graph_known);
  EXPECT_EQ(miss.reason, "no entry");
}

TEST(Bundle, RoundTrip) { ExpectSampleBundle(DecodeBundle(EncodeBundle(SampleBundle())).value()); }

TEST(CompileCall, RoundTrip) {
  ExpectSampleCall(DecodeCompileCall(EncodeCompileCall(SampleCall())).value());
}

TEST(CompileEvent, RoundTripOfEveryKind) {
  const auto round_trip = [](const CompileEvent& event) {
    return DecodeCompileEvent(EncodeCompileEvent(event)).value();
  };
  ExpectSampleProgress(std::get<Progress>(round_trip(kProgress)));
  ExpectSampleBundle(std::get<Bundle>(round_trip(SampleBundle())));
  const auto error = round_trip(ErrorReply{ErrorCode::kUnimplemented, "no such op", "graph"});
  EXPECT_EQ(std::get<ErrorReply>(error).code, ErrorCode::kUnimplemented);
}

TEST(Report, RoundTrip) {
  const Report report =
      DecodeReport(EncodeReport({"team-a", {{"seconds_saved", 2.5}}, {{"aten.foo", 3}}})).value();
  EXPECT_EQ(report.ns, "team-a");
  EXPECT_EQ(report.counters, (std::map<std::string, double>{{"seconds_saved", 2.5}}));
  EXPECT_EQ(report.fallback_ops, (std::map<std::string, std::uint64_t>{{"aten.foo", 3}}));
}

TEST(ListRequest, RoundTrip) {
  const ListRequest request = DecodeListRequest(EncodeListRequest({"", "artifact", 10})).value();
  EXPECT_EQ(request.ns, "");  // All.
  EXPECT_EQ(request.kind, "artifact");
  EXPECT_EQ(request.limit, 10U);
  EXPECT_FALSE(request.stale);
  EXPECT_TRUE(DecodeListRequest(EncodeListRequest({"", "", 0, true}))->stale);
}

TEST(ListReply, RoundTrip) {
  const ListEntry entry{kA,  kB,  "team-a", "artifact",      "gpt2",   1000,       1.0,
                        2.0, 3.0, 4,        "cpu/x86-64-v4", "a call", "ed25519:0"};
  const ListReply reply = DecodeListReply(EncodeListReply({{entry}})).value();
  ASSERT_EQ(reply.entries.size(), 1U);
  const ListEntry& decoded = reply.entries[0];
  EXPECT_EQ(decoded.key, kA);
  EXPECT_EQ(decoded.artifact, kB);
  EXPECT_EQ(decoded.ns, "team-a");
  EXPECT_EQ(decoded.kind, "artifact");
  EXPECT_EQ(decoded.label, "gpt2");
  EXPECT_EQ(decoded.size_bytes, 1000U);
  EXPECT_EQ(decoded.created_unix_s, 1.0);
  EXPECT_EQ(decoded.last_used_unix_s, 2.0);
  EXPECT_EQ(decoded.compile_seconds, 3.0);
  EXPECT_EQ(decoded.hits, 4U);
  EXPECT_EQ(decoded.target, "cpu/x86-64-v4");
  EXPECT_EQ(decoded.request, "a call");
  EXPECT_EQ(decoded.writer, "ed25519:0");
}

TEST(InspectRequest, RoundTrip) {
  const InspectRequest request =
      DecodeInspectRequest(EncodeInspectRequest({"team-a", "0123abcd", {"graph", "asm"}})).value();
  EXPECT_EQ(request.ns, "team-a");
  EXPECT_EQ(request.key_prefix, "0123abcd");
  EXPECT_EQ(request.sections, (std::vector<std::string>{"graph", "asm"}));
}

TEST(InspectReply, RoundTrip) {
  const InspectReply reply =
      DecodeInspectReply(EncodeInspectReply({{{"graph", "text"}, {"asm", "ret"}}})).value();
  ASSERT_EQ(reply.sections.size(), 2U);
  EXPECT_EQ(reply.sections[1].name, "asm");
  EXPECT_EQ(reply.sections[1].text, "ret");
}

TEST(ExplainRequest, RoundTrip) {
  const ExplainRequest request =
      DecodeExplainRequest(EncodeExplainRequest({"team-a", "aaaa", "bbbb"})).value();
  EXPECT_EQ(request.ns, "team-a");
  EXPECT_EQ(request.key_a, "aaaa");
  EXPECT_EQ(request.key_b, "bbbb");
}

TEST(ExplainReply, RoundTrip) {
  const ExplainReply reply =
      DecodeExplainReply(EncodeExplainReply({{{"options.numerics", "1", "2"}}})).value();
  ASSERT_EQ(reply.differences.size(), 1U);
  EXPECT_EQ(reply.differences[0].tag, "options.numerics");
  EXPECT_EQ(reply.differences[0].a, "1");
  EXPECT_EQ(reply.differences[0].b, "2");
}

TEST(WorkerRequest, RoundTrip) {
  const WorkerRequest request =
      DecodeWorkerRequest(EncodeWorkerRequest({SampleCall(), {"loops"}, "id-7"})).value();
  ExpectSampleCall(request.call);
  EXPECT_EQ(request.inspect_sections, (std::vector<std::string>{"loops"}));
  EXPECT_EQ(request.request_id, "id-7");
}

TEST(WorkerEvent, RoundTripOfEveryKind) {
  const auto round_trip = [](const WorkerEvent& event) {
    return DecodeWorkerEvent(EncodeWorkerEvent(event)).value();
  };
  ExpectSampleProgress(std::get<Progress>(round_trip(kProgress)));
  EXPECT_EQ(std::get<KernelQuery>(round_trip(KernelQuery{{kA, kB}})).kernel_keys,
            (std::vector<Digest>{kA, kB}));
  const WorkerDone done =
      std::get<WorkerDone>(round_trip(WorkerDone{"artifact",
                                                 {{kA, "elf"}},
                                                 {{kB, "constant"}},
                                                 0.5,
                                                 7,
                                                 {{"plan", "text"}},
                                                 {{"fuse", "a graph", 10, 20, 3}}}));
  EXPECT_EQ(done.artifact, "artifact");
  ASSERT_EQ(done.kernels.size(), 1U);
  EXPECT_EQ(done.kernels[0].kernel_key, kA);
  EXPECT_EQ(done.kernels[0].data, "elf");
  ASSERT_EQ(done.constants.size(), 1U);
  ExpectEqual(done.constants[0], {kB, "constant"});
  EXPECT_EQ(done.compile_seconds, 0.5);
  EXPECT_EQ(done.unique_kernels, 7U);
  ASSERT_EQ(done.sections.size(), 1U);
  EXPECT_EQ(done.sections[0].text, "text");
  ASSERT_EQ(done.spans.size(), 1U);
  EXPECT_EQ(done.spans[0].name, "fuse");
  EXPECT_EQ(done.spans[0].detail, "a graph");
  EXPECT_EQ(done.spans[0].start_us, 10U);
  EXPECT_EQ(done.spans[0].duration_us, 20U);
  EXPECT_EQ(done.spans[0].thread, 3U);
  const auto error = round_trip(ErrorReply{ErrorCode::kInternal, "bug", ""});
  EXPECT_EQ(std::get<ErrorReply>(error).message, "bug");
  const auto ready = round_trip(WorkerReady{{"seccomp", "landlock"}, {"cpu", "cuda"}});
  EXPECT_EQ(std::get<WorkerReady>(ready).protections,
            (std::vector<std::string>{"seccomp", "landlock"}));
  EXPECT_EQ(std::get<WorkerReady>(ready).target_kinds, (std::vector<std::string>{"cpu", "cuda"}));
}

TEST(WorkerKernelReply, RoundTrip) {
  const WorkerKernelReply reply =
      DecodeWorkerKernelReply(EncodeWorkerKernelReply({{{kA, kB, 4096}, {kB, Digest(), 0}}}))
          .value();
  ASSERT_EQ(reply.kernels.size(), 2U);
  EXPECT_EQ(reply.kernels[0].blob, kB);
  EXPECT_EQ(reply.kernels[0].size_bytes, 4096U);
  EXPECT_TRUE(reply.kernels[1].blob.IsZero());
}

}  // namespace
}  // namespace stoker::wire
