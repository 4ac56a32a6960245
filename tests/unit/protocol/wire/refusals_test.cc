// What the decoders refuse, and that they name the field.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"
#include "stoker.pb.h"

namespace stoker::wire {
namespace {

std::string GoodDigest() { return std::string(Digest::kSize, 'd'); }

pb::CompileCall GoodCall() {
  pb::CompileCall call;
  call.set_request_key(GoodDigest());
  call.set_graph("graph");
  call.set_target("cpu/x86-64-v3");
  return call;
}

struct CallRow {
  std::function<void(pb::CompileCall&)> apply;
  ErrorCode code;
  std::string field;
  std::string message;  // Its end.
};

TEST(DecodeCompileCall, WrongField_IsNamed) {
  constexpr ErrorCode kBad = ErrorCode::kInvalidArgument;
  const std::vector<CallRow> table = {
      {[](auto& c) { c.set_namespace_("Team A"); }, kBad, "compile.namespace",
       "is 'Team A'; allowed are a-z 0-9 . _ -"},
      {[](auto& c) { c.set_namespace_(std::string(65, 'a')); }, ErrorCode::kResourceExhausted,
       "compile.namespace", "has 65 bytes, more than the limit of 64."},
      {[](auto& c) { c.set_request_key("short"); }, kBad, "compile.request_key",
       "has 5 bytes; a digest has 32."},
      {[](auto& c) { c.clear_request_key(); }, kBad, "compile.request_key",
       "has 0 bytes; a digest has 32."},
      {[](auto& c) { c.clear_graph(); }, kBad, "compile.graph",
       "is empty, and so is compile.graph_digest."},
      {[](auto& c) { c.set_graph_digest("x"); }, kBad, "compile.graph_digest",
       "has 1 bytes; a digest has 32."},
      {[](auto& c) { c.set_graph_name(std::string(5000, 'n')); }, ErrorCode::kResourceExhausted,
       "compile.graph_name", "has 5000 bytes, more than the limit of 4096."},
      {[](auto& c) { c.set_target("cpu/x86-64-v9"); }, kBad, "compile.target",
       "'x86-64-v9' is neither x86-64-v3 nor x86-64-v4."},
      {[](auto& c) { c.mutable_options()->set_numerics(3); }, kBad, "options.numerics",
       "is 3, which is no numerics."},
      {[](auto& c) { c.add_have_kernels("x"); }, kBad, "compile.have_kernels",
       "has 1 bytes; a digest has 32."},
  };
  ASSERT_TRUE(DecodeCompileCall(GoodCall().SerializeAsString()).ok());
  for (std::size_t i = 0; i < table.size(); ++i) {
    pb::CompileCall call = GoodCall();
    table[i].apply(call);
    const auto decoded = DecodeCompileCall(call.SerializeAsString());
    ASSERT_FALSE(decoded.ok()) << "row " << i;
    EXPECT_EQ(decoded.error().code, table[i].code) << "row " << i;
    EXPECT_EQ(ErrorReplyOf(decoded.error()).field, table[i].field) << decoded.error().message;
    EXPECT_TRUE(decoded.error().message.ends_with(table[i].message)) << decoded.error().message;
  }
}

template <typename Decode>
void ExpectRefused(const std::string& bytes, Decode decode, const std::string& field) {
  const auto decoded = decode(bytes);
  ASSERT_FALSE(decoded.ok()) << field;
  EXPECT_EQ(ErrorReplyOf(decoded.error()).field, field) << decoded.error().message;
}

TEST(Decode, NoProtobuf_NamesTheMessage) {
  const std::string garbage = "\xff\xff\xff garbage";
  ExpectRefused(garbage, DecodeHello, "hello");
  ExpectRefused(garbage, DecodeErrorReply, "error");
  ExpectRefused(garbage, DecodeLookupRequest, "lookup");
  ExpectRefused(garbage, DecodeMiss, "miss");
  ExpectRefused(garbage, DecodeBundle, "bundle");
  ExpectRefused(garbage, DecodeCompileCall, "compile");
  ExpectRefused(garbage, DecodeCompileEvent, "event");
  ExpectRefused(garbage, DecodeReport, "report");
  ExpectRefused(garbage, DecodeListRequest, "list");
  ExpectRefused(garbage, DecodeListReply, "list");
  ExpectRefused(garbage, DecodeInspectRequest, "inspect");
  ExpectRefused(garbage, DecodeInspectReply, "inspect");
  ExpectRefused(garbage, DecodeExplainRequest, "explain");
  ExpectRefused(garbage, DecodeExplainReply, "explain");
  ExpectRefused(garbage, DecodeWorkerRequest, "work");
  ExpectRefused(garbage, DecodeWorkerEvent, "event");
  ExpectRefused(garbage, DecodeWorkerKernelReply, "kernels");
}

TEST(Decode, WrongFields_AreNamed) {
  pb::ErrorReply error;
  error.set_code("catastrophe");
  ExpectRefused(error.SerializeAsString(), DecodeErrorReply, "error.code");

  ExpectRefused("", DecodeLookupRequest, "lookup.request_key");
  pb::LookupRequest lookup;
  lookup.set_request_key(GoodDigest());
  lookup.add_fields()->set_digest("x");
  ExpectRefused(lookup.SerializeAsString(), DecodeLookupRequest, "lookup.fields.digest");
  lookup.clear_fields();
  for (std::size_t i = 0; i <= kMaxKeyFields; ++i) lookup.add_fields()->set_digest(GoodDigest());
  ExpectRefused(lookup.SerializeAsString(), DecodeLookupRequest, "lookup.fields");

  pb::Bundle bundle;
  bundle.add_blobs()->set_digest("x");
  ExpectRefused(bundle.SerializeAsString(), DecodeBundle, "bundle.blobs.digest");
  for (const double seconds :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    pb::Bundle timed;
    timed.set_compile_seconds(seconds);
    ExpectRefused(timed.SerializeAsString(), DecodeBundle, "bundle.compile_seconds");
  }

  ExpectRefused("", DecodeCompileEvent, "event");
  ExpectRefused("", DecodeWorkerEvent, "event");

  pb::Report report;
  (*report.mutable_counters())["hits"] = -1;
  ExpectRefused(report.SerializeAsString(), DecodeReport, "report.counters");

  pb::ListRequest list;
  list.set_limit(kMaxListEntries + 1);
  ExpectRefused(list.SerializeAsString(), DecodeListRequest, "list.limit");

  for (const char* prefix : {"", "abc", "ABCD", "wxyz"}) {
    pb::InspectRequest inspect;
    inspect.set_key_prefix(prefix);
    ExpectRefused(inspect.SerializeAsString(), DecodeInspectRequest, "inspect.key_prefix");
  }
  pb::ExplainRequest explain;
  explain.set_key_a("abcd");
  explain.set_key_b(std::string(65, 'a'));
  ExpectRefused(explain.SerializeAsString(), DecodeExplainRequest, "explain.key_b");

  pb::WorkerRequest work;
  *work.mutable_call() = GoodCall();
  work.mutable_call()->clear_graph();
  work.mutable_call()->set_graph_digest(GoodDigest());
  ExpectRefused(work.SerializeAsString(), DecodeWorkerRequest, "work.call.graph");

  pb::WorkerKernelReply kernels;
  kernels.add_kernels()->set_kernel_key(GoodDigest());
  kernels.mutable_kernels(0)->set_blob("x");
  ExpectRefused(kernels.SerializeAsString(), DecodeWorkerKernelReply, "kernels.blob");
}

TEST(Decode, TooManyOrTooLongSpans_AreRefused) {
  pb::WorkerEvent done;
  for (std::size_t i = 0; i <= kMaxSpans; ++i) done.mutable_done()->add_spans();
  ExpectRefused(done.SerializeAsString(), DecodeWorkerEvent, "done.spans");
  done.mutable_done()->clear_spans();
  done.mutable_done()->add_spans()->set_detail(std::string(kMaxNameBytes + 1, 'x'));
  ExpectRefused(done.SerializeAsString(), DecodeWorkerEvent, "done.spans.detail");
}

TEST(Decode, FieldOfANewerPeer_IsIgnored) {
  pb::Miss miss;
  miss.set_reason("no entry");
  // Field 1000, a varint.
  const std::string bytes = miss.SerializeAsString() + std::string("\xc0\x3e\x07", 3);
  EXPECT_EQ(DecodeMiss(bytes)->reason, "no entry");
}

}  // namespace
}  // namespace stoker::wire
