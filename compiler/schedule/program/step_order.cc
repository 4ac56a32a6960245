#include "compiler/schedule/program/step_order.h"

#include <algorithm>
#include <optional>

namespace stoker {
namespace {

bool WritesOf(const LoopFunc& func, std::size_t k) { return func.operands[k].written; }

bool WritesOf(const JoinedFunc& func, std::size_t k) {
  for (const LoopFunc& part : func.parts) {
    if (k < part.operands.size()) return part.operands[k].written;
    k -= part.operands.size();
  }
  return true;
}

bool WritesOf(const ContractionFunc& func, std::size_t k) { return func.operands[k].written; }

// Other kernels are seldom; they are taken to write all that they name.
template <typename Func>
bool WritesOf(const Func&, std::size_t) {
  return true;
}

// Who has written a storage, and read it since.
struct Uses {
  std::optional<std::size_t> writer;
  std::vector<std::size_t> readers;
};

}  // namespace

bool MayWrite(const Step& step, std::size_t k) {
  if (const KernelFunc* func = step.func()) {
    return std::visit([&](const auto& f) { return WritesOf(f, k); }, *func);
  }
  if (const auto* host = std::get_if<HostOp>(&step.work)) return k >= host->operands.size();
  const LibraryMatmul& matmul = std::get<LibraryOp>(step.work).matmul;
  return k == matmul.d.place || k == matmul.workspace;
}

StepOrder::StepOrder(const Program& program, std::size_t side_by_side)
    : side_by_side_(side_by_side), before_(program.steps.size()), done_(program.steps.size()) {
  STOKER_CHECK(side_by_side <= kMost);
  if (side_by_side == 0) return;
  std::vector<Uses> uses(program.storages.size());
  std::size_t done = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const auto comes_after = [&](std::size_t earlier) {
      const std::size_t distance = i - earlier;
      if (distance == 0 || distance > kMost) return;
      before_[i] |= std::uint64_t{1} << (distance - 1);
      if (distance < kMost) before_[i] |= before_[earlier] << distance;
    };
    const bool is_host_call = std::holds_alternative<HostOp>(step.work);
    done_[i] = is_host_call ? i : done;
    if (is_host_call) done = i + 1;
    for (std::size_t k = 0; k < step.buffers.size(); ++k) {
      Uses& use = uses[step.buffers[k]];
      if (use.writer) comes_after(*use.writer);
      if (!MayWrite(step, k)) {
        use.readers.push_back(i);
        continue;
      }
      for (const std::size_t reader : use.readers) comes_after(reader);
      use = {i, {}};
    }
  }
}

bool StepOrder::IsDone(std::size_t earlier, std::size_t later) const {
  const std::size_t distance = later - earlier;
  if (distance > side_by_side_ || earlier < done_[later]) return true;
  return (before_[later] >> (distance - 1) & 1) != 0;
}

}  // namespace stoker
