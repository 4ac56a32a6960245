#include "protocol/key/target.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace stoker {
namespace {

TEST(Target_Parse, SortsFeaturesAndPrintsAlike) {
  const Target target = Target::Parse("cpu/x86-64-v4+avx512_bf16+amx_bf16").value();
  EXPECT_EQ(target.kind(), TargetKind::kCpu);
  EXPECT_EQ(target.arch(), "x86-64-v4");
  EXPECT_TRUE(target.Has("amx_bf16"));
  EXPECT_FALSE(target.Has("avx512_fp16"));
  EXPECT_EQ(target.ToString(), "cpu/x86-64-v4+amx_bf16+avx512_bf16");
  EXPECT_EQ(Target::Parse(target.ToString()).value(), target);
}

TEST(Target_Parse, KnownForms_RoundTrip) {
  for (const char* text :
       {"cpu/x86-64-v3", "cpu/x86-64-v3+avx_vnni", "cpu/x86-64-v4",
        "cpu/x86-64-v4+avx512_fp16+avx512_vnni", "cuda/sm_80", "cuda/sm_90a", "cuda/sm_121"}) {
    const auto target = Target::Parse(text);
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_EQ(target->ToString(), text);
  }
}

TEST(Target_Parse, Malformed_NamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "Target '': it must start with cpu/ or cuda/."},
      {"x86-64-v4", "Target 'x86-64-v4': it must start with cpu/ or cuda/."},
      {"cpu/", "Target 'cpu/': '' is neither x86-64-v3 nor x86-64-v4."},
      {"cpu/x86-64-v2", "Target 'cpu/x86-64-v2': 'x86-64-v2' is neither x86-64-v3 nor x86-64-v4."},
      {"cpu/x86-64-v4+", "Target 'cpu/x86-64-v4+': feature '' is unknown."},
      {"cpu/x86-64-v4+sse9", "Target 'cpu/x86-64-v4+sse9': feature 'sse9' is unknown."},
      {"cpu/x86-64-v3+amx_bf16",
       "Target 'cpu/x86-64-v3+amx_bf16': feature 'amx_bf16' needs x86-64-v4."},
      {"cpu/x86-64-v4+avx_vnni+avx_vnni",
       "Target 'cpu/x86-64-v4+avx_vnni+avx_vnni': feature 'avx_vnni' stands twice."},
      {"cuda/sm_90a+x", "Target 'cuda/sm_90a+x': a CUDA target has no features."},
      {"cuda/sm_9", "Target 'cuda/sm_9': 'sm_9' is no CUDA architecture such as sm_90a."},
      {"cuda/90", "Target 'cuda/90': '90' is no CUDA architecture such as sm_90a."},
      {"cuda/sm_90ab", "Target 'cuda/sm_90ab': 'sm_90ab' is no CUDA architecture such as sm_90a."},
  };
  for (const auto& [text, message] : table) {
    const auto target = Target::Parse(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(target.error().message, message);
  }
  EXPECT_FALSE(Target::Parse("cpu/" + std::string(1000, 'x')).ok());
}

TEST(Target_CheckRunsOn, LevelsAndFeatures) {
  const auto runs = [](std::string_view code, std::string_view host) {
    return Target::Parse(code).value().CheckRunsOn(Target::Parse(host).value());
  };
  EXPECT_TRUE(runs("cpu/x86-64-v3", "cpu/x86-64-v4+amx_bf16").ok());
  EXPECT_TRUE(runs("cpu/x86-64-v4+amx_bf16", "cpu/x86-64-v4+amx_bf16+avx512_bf16").ok());
  EXPECT_TRUE(runs("cuda/sm_90a", "cuda/sm_90a").ok());
  const std::vector<std::array<std::string, 3>> refused = {
      {"cpu/x86-64-v4", "cpu/x86-64-v3", "x86-64-v4"},
      {"cpu/x86-64-v4+amx_bf16", "cpu/x86-64-v4+avx512_bf16", "amx_bf16"},
      {"cpu/x86-64-v3+avx_vnni", "cpu/x86-64-v4", "avx_vnni"},
      {"cuda/sm_90a", "cpu/x86-64-v4", "a GPU"},
      {"cpu/x86-64-v3", "cuda/sm_90a", "a CPU"},
      {"cuda/sm_80", "cuda/sm_90a", "sm_80"},
  };
  for (const auto& [code, host, lacking] : refused) {
    const Status status = runs(code, host);
    ASSERT_FALSE(status.ok()) << code << " on " << host;
    EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(status.error().message,
              "Code for " + code + " needs " + lacking + "; this is " + host + ".");
  }
}

TEST(Target_Host, IsACpuThatParsesAgain) {
  const auto host = Target::Host();
  if (!host.ok()) GTEST_SKIP() << host.error().message;
  EXPECT_EQ(host->kind(), TargetKind::kCpu);
  EXPECT_EQ(Target::Parse(host->ToString()).value(), *host);
}

}  // namespace
}  // namespace stoker
