#include "compiler/ir/kernel_func.h"

#include <algorithm>
#include <vector>

namespace stoker {
namespace {

// Of operations, each once, in the order in which they come up.
class Names {
 public:
  void Add(std::string name) {
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(std::move(name));
  }

  void Add(const LoopFunc& func) {
    for (const Stage& stage : func.stages) {
      for (const BodyInstr& instr : stage.body.instrs) {
        if (instr.op == BodyOp::kPointwise && instr.pointwise != OpKind::kConvert) {
          Add(std::string(Name(instr.pointwise)));
        }
      }
      for (const Reduction& reduction : stage.reductions) {
        Add((reduction.is_arg ? "arg_" : "reduce_") + std::string(Name(reduction.kind)));
      }
    }
  }

  std::string ToString() const {
    constexpr std::size_t kMost = 6;
    if (names_.empty()) return "copy";
    std::string text;
    for (std::size_t i = 0; i < std::min(names_.size(), kMost); ++i) {
      text += (i == 0 ? "" : "_") + names_[i];
    }
    if (names_.size() > kMost) text += "_and_" + std::to_string(names_.size() - kMost);
    return text;
  }

 private:
  std::vector<std::string> names_;
};

std::string NameOfOne(const LoopFunc& func) {
  Names names;
  names.Add(func);
  return names.ToString();
}

std::string NameOfOne(const JoinedFunc& func) {
  Names names;
  for (const LoopFunc& part : func.parts) names.Add(part);
  return names.ToString();
}

std::string NameOfOne(const ContractionFunc&) { return "contraction"; }
std::string NameOfOne(const PackFunc&) { return "pack"; }
std::string NameOfOne(const AttentionFunc&) { return "attention"; }
std::string NameOfOne(const ScanFunc& func) { return "cumulative_" + std::string(Name(func.kind)); }
std::string NameOfOne(const SortFunc& func) { return func.keep < 0 ? "sort" : "top_k"; }
std::string NameOfOne(const ScatterFunc& func) { return "scatter_" + std::string(Name(func.kind)); }

}  // namespace

std::string ToString(const KernelFunc& func) {
  return std::visit([](const auto& f) { return ToString(f); }, func);
}

Status Verify(const KernelFunc& func) {
  return std::visit([](const auto& f) { return Verify(f); }, func);
}

std::string NameOf(const KernelFunc& func) {
  return std::visit([](const auto& f) { return NameOfOne(f); }, func);
}

}  // namespace stoker
