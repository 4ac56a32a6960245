// Target: what the code must run on. Never a device ordinal, a rank, a host name or a path.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

enum class TargetKind : std::uint8_t { kCpu = 0, kCuda = 1 };

// Text form: "cpu/x86-64-v3", "cpu/x86-64-v4+avx512_bf16+amx_bf16", "cuda/sm_90a".
// CPU levels: x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512 F BW CD DQ VL). Features beyond the
// level, sorted: avx512_bf16, amx_bf16 and amx_int8 (imply amx_tile), avx512_fp16, avx512_vnni,
// avx_vnni.
class Target {
 public:
  static Result<Target> Parse(std::string_view text);
  // The machine this process runs on: CPUID plus what the operating system enables (XCR0; AMX
  // tile data permission on Linux). Below x86-64-v3 is an error that names the missing feature.
  static Result<Target> Host();

  TargetKind kind() const { return kind_; }
  const std::string& arch() const { return arch_; }  // "x86-64-v4", "sm_90a".
  const std::set<std::string>& features() const { return features_; }
  bool Has(std::string_view feature) const { return features_.contains(std::string(feature)); }
  std::string ToString() const;

  // Ok when code for this target runs on `host`; else FailedPrecondition with what `host` lacks.
  Status CheckRunsOn(const Target& host) const;

  friend bool operator==(const Target&, const Target&) = default;

 private:
  TargetKind kind_ = TargetKind::kCpu;
  std::string arch_;
  std::set<std::string> features_;
};

}  // namespace stoker
