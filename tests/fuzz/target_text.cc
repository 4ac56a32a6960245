// The text form of targets: what parses prints as itself.
#include "protocol/base/check.h"
#include "protocol/key/target.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {

std::vector<std::string> Seeds() {
  return {"cpu/x86-64-v3", "cpu/x86-64-v3+avx_vnni", "cpu/x86-64-v4",
          "cpu/x86-64-v4+amx_bf16+avx512_bf16+avx512_fp16+avx512_vnni", "cuda/sm_90a"};
}

void TryInput(std::string_view bytes) {
  const Result<Target> target = Target::Parse(bytes);
  if (!target.ok()) return;
  const Result<Target> again = Target::Parse(target->ToString());
  STOKER_CHECK(again.ok());
  STOKER_CHECK(*again == *target);
}

}  // namespace stoker::fuzz
