// Artifact: the manifest a compile ends in. Small: kernels and large constants are blobs of their
// own, named by digest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/guard/guard_set.h"
#include "protocol/key/target.h"

namespace stoker {

// One compiled function. `key` names what was compiled (canonical loop IR, target, toolchain),
// `blob` the bytes (an ELF shared object or a cubin).
struct KernelRef {
  Digest key;
  Digest blob;
  std::uint64_t size_bytes = 0;
};

struct ConstantRef {
  Digest blob;
  std::uint64_t size_bytes = 0;
};

struct Artifact {
  Digest request_key;
  std::string graph_name;
  Target target;
  std::string compiler_epoch;
  GuardSet guards;
  LaunchPlan plan;
  std::vector<KernelRef> kernels;      // Unique.
  std::vector<ConstantRef> constants;  // Unique.
};

// Format: magic "STKA", version, body, SHA-256 of everything before it, then signatures
// (artifact_signature.h). Encoding signs nothing, and decoding looks at no signature. It validates
// every index, size and offset: an Artifact that exists can be executed without further checks of
// its structure.
std::string EncodeArtifact(const Artifact& artifact);
Result<Artifact> DecodeArtifact(std::string_view bytes);

}  // namespace stoker
