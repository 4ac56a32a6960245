// CpuMachine: what the processor that a CPU Target names can do.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "protocol/base/dtype.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

struct CpuMachine {
  std::string arch;                // As the target names it: "x86-64-v4".
  std::set<std::string> features;  // Beyond it, as the target names them.
  int vector_bytes = 32;           // 64 with AVX-512.
  int num_vector_registers = 16;
  bool avx512 = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;

  // Lanes of one register. f16 and bf16 count as f32 (they are computed in it), bool as f32.
  int Lanes(DType dtype) const;
};

// Tile registers of AMX.
struct AmxTile {
  static constexpr int kRows = 16;  // At most.
  static constexpr int kRowBytes = 64;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kConfigBytes = 64;  // What ldtilecfg reads.
};

// `target` must be a CPU target.
Result<CpuMachine> CpuMachineOf(const Target& target);

}  // namespace stoker
