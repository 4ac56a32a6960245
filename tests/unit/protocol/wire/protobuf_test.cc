// Our encoding of every message beside that of protobuf's own library: the same bytes.
#include <gtest/gtest.h>

#include "protocol/wire/messages.h"
#include "stoker.pb.h"

namespace stoker::wire {
namespace {

const Digest kA = Sha256Of("a");
const Digest kB = Sha256Of("b");

// The library understands `encoded` and would have written the same.
template <typename Message>
void ExpectSameBytes(const std::string& encoded) {
  Message message;
  ASSERT_TRUE(message.ParseFromString(encoded)) << message.GetTypeName();
  EXPECT_FALSE(encoded.empty()) << message.GetTypeName();
  EXPECT_EQ(message.SerializeAsString(), encoded) << message.GetTypeName();
}

CompileCall SampleCall() {
  CompileCall call;
  call.request_key = kA;
  call.graph = std::string(300, 'g');  // A length of two bytes.
  call.graph_digest = kB;
  call.graph_name = "model";
  call.target = Target::Parse("cpu/x86-64-v4+amx_bf16").value();
  call.options.numerics = Numerics::kMedium;
  call.compiler_epoch = "stoker-1";
  call.have_kernels = {kB, kA};
  call.store_only = true;
  return call;
}

TEST(Encode, EveryMessage_SameBytesAsProtobuf) {
  const Bundle bundle{"artifact", {{kA, std::string("\0\xff", 2)}, {kB, ""}}, "disk", 1.5, "call"};
  const Progress progress{"compiling", 3, 300, "matmul", 0.25};
  const ErrorReply error{ErrorCode::kInternal, "bug", "a.field"};
  ListEntry entry;
  entry.key = entry.artifact = kA;
  entry.ns = "default";
  entry.kind = entry.label = entry.target = entry.writer = "text";
  entry.size_bytes = UINT64_MAX;
  entry.created_unix_s = entry.last_used_unix_s = entry.compile_seconds = 1e9;
  entry.hits = 128;
  entry.request = "call";

  ExpectSameBytes<pb::Hello>(EncodeHello({1, "0.1.0", "stoker-1", 42, {"cpu", ""}, {PublicKey()}}));
  ExpectSameBytes<pb::ErrorReply>(EncodeErrorReply(error));
  ExpectSameBytes<pb::LookupRequest>(EncodeLookupRequest(
      {"team", kA, kB, {kA, kB}, {{"tag", "text", kA}, {"", "", kB}}, true, true}));
  ExpectSameBytes<pb::Miss>(EncodeMiss({true, "no entry", 3}));
  ExpectSameBytes<pb::Bundle>(EncodeBundle(bundle));
  ExpectSameBytes<pb::CompileCall>(EncodeCompileCall(SampleCall()));
  for (const CompileEvent& event : {CompileEvent(progress), CompileEvent(bundle),
                                    CompileEvent(error), CompileEvent(Bundle())}) {
    ExpectSameBytes<pb::CompileEvent>(EncodeCompileEvent(event));
  }
  ExpectSameBytes<pb::Report>(EncodeReport({"team", {{"seconds", 2.5}}, {{"aten.foo", 3}}}));
  ExpectSameBytes<pb::ListRequest>(EncodeListRequest({"team", "artifact", 100, true}));
  ExpectSameBytes<pb::ListReply>(EncodeListReply({{entry, entry}}));
  ExpectSameBytes<pb::InspectRequest>(EncodeInspectRequest({"team", "0123", {"graph", "asm"}}));
  ExpectSameBytes<pb::InspectReply>(EncodeInspectReply({{{"graph", "text"}, {"asm", ""}}}));
  ExpectSameBytes<pb::ExplainRequest>(EncodeExplainRequest({"team", "0123", "4567"}));
  ExpectSameBytes<pb::ExplainReply>(
      EncodeExplainReply({{{"numerics", "1", "2"}, {"target.features", "", "1"}}}));
  ExpectSameBytes<pb::WorkerRequest>(EncodeWorkerRequest({SampleCall(), {"loops"}, "id"}));
  const WorkerDone done{"artifact",
                        {{kA, "elf"}},
                        {{kB, "bytes"}},
                        0.5,
                        7,
                        {{"plan", "text"}},
                        {{"fuse", "detail", 10, 20, 3}, {"link", "", 0, 0, 0}}};
  for (const WorkerEvent& event :
       {WorkerEvent(progress), WorkerEvent(KernelQuery{{kA, kB}}), WorkerEvent(done),
        WorkerEvent(error), WorkerEvent(WorkerReady{{"seccomp"}, {"cpu"}})}) {
    ExpectSameBytes<pb::WorkerEvent>(EncodeWorkerEvent(event));
  }
  ExpectSameBytes<pb::WorkerKernelReply>(
      EncodeWorkerKernelReply({{{kA, kB, 4096}, {kB, Digest(), 0}}}));
}

TEST(Encode, DefaultValues_LeftOutAsProtobufDoes) {
  EXPECT_EQ(EncodeMiss({}), pb::Miss().SerializeAsString());
  EXPECT_EQ(EncodeInspectReply({}), pb::InspectReply().SerializeAsString());
  EXPECT_EQ(EncodeHello({}), pb::Hello().SerializeAsString());
}

}  // namespace
}  // namespace stoker::wire
