#include "protocol/key/target.h"

#include <algorithm>
#include <array>

#include "protocol/key/cpu_facts.h"

namespace stoker {
namespace {

constexpr std::string_view kLevel3 = "x86-64-v3";
constexpr std::string_view kLevel4 = "x86-64-v4";
constexpr std::size_t kMaxTargetBytes = 256;

struct FeatureRule {
  std::string_view name;
  bool needs_level4;
};
constexpr std::array kFeatures = {
    FeatureRule{"amx_bf16", true},    FeatureRule{"amx_int8", true},
    FeatureRule{"avx512_bf16", true}, FeatureRule{"avx512_fp16", true},
    FeatureRule{"avx512_vnni", true}, FeatureRule{"avx_vnni", false},
};

Error Bad(std::string_view text, const std::string& why) {
  return InvalidArgument("Target '" + std::string(text.substr(0, kMaxTargetBytes)) + "': " + why);
}

// "sm_90", "sm_90a".
bool IsCudaArch(std::string_view arch) {
  if (!arch.starts_with("sm_")) return false;
  arch.remove_prefix(3);
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  return arch.size() >= 2 && arch.size() <= 3 &&
         std::ranges::all_of(arch, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<Target> Target::Parse(std::string_view text) {
  if (text.size() > kMaxTargetBytes) {
    return Bad(text, std::to_string(text.size()) + " bytes exceed the limit of " +
                         std::to_string(kMaxTargetBytes) + ".");
  }
  Target target;
  std::string_view rest = text;
  if (rest.starts_with("cpu/")) {
    target.kind_ = TargetKind::kCpu;
    rest.remove_prefix(4);
  } else if (rest.starts_with("cuda/")) {
    target.kind_ = TargetKind::kCuda;
    rest.remove_prefix(5);
  } else {
    return Bad(text, "it must start with cpu/ or cuda/.");
  }

  const std::size_t arch_end = std::min(rest.find('+'), rest.size());
  target.arch_ = std::string(rest.substr(0, arch_end));
  rest.remove_prefix(arch_end);
  if (target.kind_ == TargetKind::kCuda) {
    if (!IsCudaArch(target.arch_)) {
      return Bad(text, "'" + target.arch_ + "' is no CUDA architecture such as sm_90a.");
    }
    if (!rest.empty()) return Bad(text, "a CUDA target has no features.");
    return target;
  }
  if (target.arch_ != kLevel3 && target.arch_ != kLevel4) {
    return Bad(text, "'" + target.arch_ + "' is neither x86-64-v3 nor x86-64-v4.");
  }

  while (!rest.empty()) {
    rest.remove_prefix(1);  // '+'
    const std::size_t end = std::min(rest.find('+'), rest.size());
    const std::string feature(rest.substr(0, end));
    rest.remove_prefix(end);
    const auto rule = std::ranges::find(kFeatures, feature, &FeatureRule::name);
    if (rule == kFeatures.end()) return Bad(text, "feature '" + feature + "' is unknown.");
    if (rule->needs_level4 && target.arch_ != kLevel4) {
      return Bad(text, "feature '" + feature + "' needs x86-64-v4.");
    }
    if (!target.features_.insert(feature).second) {
      return Bad(text, "feature '" + feature + "' stands twice.");
    }
  }
  return target;
}

Result<Target> Target::Host() {
  STOKER_TRY(const std::string text, TargetTextOf(ReadCpuFacts()));
  return Parse(text);
}

std::string Target::ToString() const {
  std::string text = kind_ == TargetKind::kCpu ? "cpu/" : "cuda/";
  text += arch_;
  for (const std::string& feature : features_) text += "+" + feature;
  return text;
}

Status Target::CheckRunsOn(const Target& host) const {
  const auto refuse = [&](std::string_view what) {
    return FailedPrecondition("Code for " + ToString() + " needs " + std::string(what) +
                              "; this is " + host.ToString() + ".");
  };
  if (kind_ != host.kind_) return refuse(kind_ == TargetKind::kCpu ? "a CPU" : "a GPU");
  // Names of CPU levels order as the levels do; GPU code runs on its own architecture only.
  if (kind_ == TargetKind::kCpu ? arch_ > host.arch_ : arch_ != host.arch_) return refuse(arch_);
  for (const std::string& feature : features_) {
    if (!host.Has(feature)) return refuse(feature);
  }
  return Ok();
}

}  // namespace stoker
