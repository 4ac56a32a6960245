// Checks of bodies, accesses and stores, shared by the verifiers of all kernels.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

struct BodyContext {
  int num_dims = 0;  // Iteration dims.
  const std::vector<Operand>* operands = nullptr;
  // The dtype of an input, or nothing if there is no such input here.
  std::function<std::optional<DType>(std::uint32_t)> input;
};

Status VerifyAccess(const Access& access, int num_dims, const std::vector<Operand>& operands);
Status VerifyBody(const Body& body, const BodyContext& context);
Status VerifyStores(const std::vector<Store>& stores, const Body& body, const BodyContext& context);

// The dtype that bodies compute `memory` in.
inline DType ComputeType(DType memory) {
  return memory == DType::kF16 || memory == DType::kBF16 ? DType::kF32 : memory;
}

}  // namespace stoker
