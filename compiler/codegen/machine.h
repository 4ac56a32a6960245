// Machine: what a CPU Target means for code generation.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/base/dtype.h"
#include "protocol/key/target.h"

namespace stoker::codegen {

struct Machine {
  int vector_bytes = 32;  // 64 with AVX-512.
  int num_vector_registers = 16;
  bool avx512 = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool avx512_vnni = false;
  bool amx_bf16 = false;
  std::string cpu;       // LLVM target-cpu: "x86-64-v4".
  std::string features;  // LLVM target-features beyond the cpu: "+avx512bf16,+amx-tile,...".

  // Lanes of one register. f16 and bf16 count as f32 (they are computed in it), bool as f32.
  int Lanes(DType dtype) const;
};

// `target` must be a CPU target.
Result<Machine> MachineOf(const Target& target);

}  // namespace stoker::codegen
