#include "protocol/manifest/manifest.h"

#include <gtest/gtest.h>

#include "protocol/graph/graph.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

wire::CompileCall CallOf(Numerics numerics) {
  const Graph graph =
      ParseGraph("graph @g(%0: f32[2]) {\n  %1 = negate(%0) : f32[2]\n  return %1\n}\n").value();
  wire::CompileCall call;
  call.ns = "team-a";
  call.graph = EncodeGraph(graph);
  call.graph_name = graph.name();
  call.target = Target::Parse("cpu/x86-64-v3").value();
  call.options.numerics = numerics;
  call.request_key = Sha256Of("of some compiler");
  call.compiler_epoch = "stoker-1";
  call.have_kernels = {Sha256Of("kernel")};
  return call;
}

wire::CapturePut SamplePut() {
  wire::CapturePut put;
  put.key.capture_key = Sha256Of("capture");
  put.key.fields = {{"target", "cpu/x86-64-v3", Sha256Of("cpu/x86-64-v3")}};
  put.label = "job:main";
  put.capture = std::string("envelope\0\xff", 10);
  return put;
}

std::string RecordOf(std::uint32_t kind, const std::string& content) {
  return EncodeRecord(kManifestFormat, kind, Sha256Of(content), content).value();
}

TEST(Manifest, RequestsAndCaptures_ComeBackAsTheyWere) {
  const wire::CompileCall call = CallOf(Numerics::kHigh);
  const auto manifest = Manifest::Decode(RecordOf(kRequestRecord, RequestContentOf(call)) +
                                         RecordOf(kCaptureRecord, CaptureContentOf(SamplePut())))
                            .value();
  ASSERT_EQ(manifest.requests(), 1U);
  ASSERT_EQ(manifest.captures(), 1U);
  const wire::CompileCall read = manifest.Request(0).value();
  EXPECT_EQ(read.ns, "team-a");
  EXPECT_EQ(read.graph, call.graph);
  EXPECT_EQ(read.graph_digest, Sha256Of(call.graph));
  EXPECT_EQ(read.graph_name, "g");
  EXPECT_EQ(read.target, call.target);
  EXPECT_EQ(read.options.numerics, Numerics::kHigh);
  EXPECT_EQ(read.compiler_epoch, "");
  EXPECT_TRUE(read.have_kernels.empty());
  const wire::CapturePut put = manifest.Capture(0).value();
  EXPECT_EQ(put.key.capture_key, SamplePut().key.capture_key);
  EXPECT_EQ(put.key.fields.size(), 1U);
  EXPECT_EQ(put.label, "job:main");
  EXPECT_EQ(put.capture, SamplePut().capture);
}

TEST(Manifest, RequestOfAnotherCompiler_IsTheSame) {
  wire::CompileCall other = CallOf(Numerics::kHigh);
  other.compiler_epoch = "stoker-2";
  other.request_key = Sha256Of("of another");
  other.have_kernels.clear();
  EXPECT_EQ(RequestContentOf(CallOf(Numerics::kHigh)), RequestContentOf(other));
  EXPECT_NE(RequestContentOf(CallOf(Numerics::kHigh)), RequestContentOf(CallOf(Numerics::kMedium)));
}

TEST(Manifest, KindsOfNewerWriters_ArePassedOver) {
  const auto manifest =
      Manifest::Decode(RecordOf(99, "?") +
                       RecordOf(kRequestRecord, RequestContentOf(CallOf(Numerics::kHighest))))
          .value();
  EXPECT_EQ(manifest.requests(), 1U);
  EXPECT_EQ(manifest.captures(), 0U);
}

TEST(Manifest, RecordThatIsNoRequest_FailsWhenItIsAskedFor) {
  wire::CompileCall foreign_key = CallOf(Numerics::kHighest);
  foreign_key.graph_digest = Sha256Of(foreign_key.graph);
  wire::CompileCall foreign_graph = foreign_key;
  foreign_graph.graph_digest = Sha256Of("another");
  wire::CompileCall no_graph = foreign_key;
  no_graph.graph = "graph";
  for (const std::string& content :
       {std::string("nonsense"), wire::EncodeCompileCall(foreign_key),
        wire::EncodeCompileCall(foreign_graph), wire::EncodeCompileCall(no_graph)}) {
    const auto manifest = Manifest::Decode(RecordOf(kRequestRecord, content)).value();
    ASSERT_EQ(manifest.requests(), 1U);
    EXPECT_FALSE(manifest.Request(0).ok());
  }
}

TEST(Manifest, Read_NamesThePath) {
  const TempFolder folder;
  EXPECT_EQ(Manifest::Read(folder.path() + "/none").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Manifest::Read(folder.path()).error().code, ErrorCode::kFailedPrecondition);
  const std::string script = folder.Write("train.py", "import torch\n");
  const auto read = Manifest::Read(script);
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(read.error().message.starts_with(script + ": ")) << read.error().message;
  EXPECT_EQ(Manifest::Read(folder.Write("empty", "")).value().requests(), 0U);
}

}  // namespace
}  // namespace stoker
