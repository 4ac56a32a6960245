#include "compiler/ir/kernel_func.h"

namespace stoker {

std::string ToString(const KernelFunc& func) {
  return std::visit([](const auto& f) { return ToString(f); }, func);
}

Status Verify(const KernelFunc& func) {
  return std::visit([](const auto& f) { return Verify(f); }, func);
}

}  // namespace stoker
