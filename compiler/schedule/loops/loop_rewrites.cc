#include "compiler/schedule/loops/loop_rewrites.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace stoker {
namespace {

void RenumberTerms(IndexMap& index, const std::vector<int>& to) {
  for (IndexTerm& term : index.terms) term.dim = to[static_cast<std::size_t>(term.dim)];
  std::sort(index.terms.begin(), index.terms.end(), [](const IndexTerm& x, const IndexTerm& y) {
    return std::tie(x.dim, x.divisor, x.modulus) < std::tie(y.dim, y.divisor, y.modulus);
  });
}

// Gives dim i the number to[i].
void Renumber(LoopFunc& func, const std::vector<int>& to) {
  std::vector<SymDim> dims(func.dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    dims[static_cast<std::size_t>(to[i])] = func.dims[i];
  func.dims = std::move(dims);
  for (Stage& stage : func.stages) {
    for (int& dim : stage.loops) dim = to[static_cast<std::size_t>(dim)];
    for (BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kLoad) RenumberTerms(instr.access.index, to);
      if (instr.op == BodyOp::kIndex) instr.dim = to[static_cast<std::size_t>(instr.dim)];
    }
    for (Store& store : stage.stores) RenumberTerms(store.access.index, to);
    for (Reduction& reduction : stage.reductions) {
      for (int& dim : reduction.over) dim = to[static_cast<std::size_t>(dim)];
    }
  }
}

// Of a row, by its place alone.
bool LoadsRow(const LoopFunc& func, const Stage& stage, const BodyInstr& instr) {
  if (instr.op != BodyOp::kLoad || !instr.args.empty()) return false;
  bool along_loops = false;
  bool along_rows = func.num_outer == 0;
  for (const IndexTerm& term : instr.access.index.terms) {
    along_loops = along_loops || Contains(stage.loops, term.dim);
    along_rows = along_rows || term.dim < func.num_outer;
  }
  return along_loops && along_rows;
}

std::uint32_t NextId(const LoopFunc& func) {
  std::uint32_t next = 0;
  for (const Stage& stage : func.stages) {
    for (const Temporary& temporary : stage.temporaries) next = std::max(next, temporary.id + 1);
    for (const Reduction& reduction : stage.reductions) next = std::max(next, reduction.id + 1);
  }
  return next;
}

// Replaces the loads of `access` in `stage` by input `id`; false if there are none.
bool ReplaceLoads(Stage& stage, const BodyInstr& load, std::uint32_t id) {
  bool any = false;
  for (BodyInstr& instr : stage.body.instrs) {
    if (instr.op != BodyOp::kLoad || !instr.args.empty() || !(instr.access == load.access))
      continue;
    BodyInstr input;
    input.op = BodyOp::kInput;
    input.dtype = instr.dtype;
    input.input = id;
    instr = std::move(input);
    any = true;
  }
  return any;
}

bool Uses(const Stage& stage, std::uint32_t id) {
  return std::ranges::any_of(stage.body.instrs, [&](const BodyInstr& instr) {
    return instr.op == BodyOp::kInput && instr.input == id;
  });
}

// Numbers of values of the body that leave it.
std::vector<std::uint32_t*> Roots(Stage& stage) {
  std::vector<std::uint32_t*> roots;
  for (Store& store : stage.stores) roots.push_back(&store.value);
  for (Temporary& temporary : stage.temporaries) roots.push_back(&temporary.value);
  for (Reduction& reduction : stage.reductions) roots.push_back(&reduction.value);
  return roots;
}

// Value `value` of `source` in place of input `id`.
void Inline(Stage& stage, std::uint32_t id, const Body& source, std::uint32_t value) {
  Body body = source;
  std::vector<std::uint32_t> moved;  // Instruction of the old body -> of the new one.
  for (BodyInstr& instr : stage.body.instrs) {
    if (instr.op == BodyOp::kInput && instr.input == id) {
      moved.push_back(value);
      continue;
    }
    moved.push_back(static_cast<std::uint32_t>(body.instrs.size()));
    for (std::uint32_t& arg : instr.args) arg = moved[arg];
    body.instrs.push_back(std::move(instr));
  }
  stage.body = std::move(body);
  for (std::uint32_t* root : Roots(stage)) *root = moved[*root];
}

// Without equal instructions, and without those that nothing needs.
void ShareEqual(Stage& stage) {
  std::vector<BodyInstr>& instrs = stage.body.instrs;
  std::vector<bool> needed(instrs.size(), false);
  for (const std::uint32_t* root : Roots(stage)) needed[*root] = true;
  for (std::size_t i = instrs.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const std::uint32_t arg : instrs[i].args) needed[arg] = true;
  }
  Body body;
  std::vector<std::uint32_t> moved(instrs.size(), 0);
  // Equal instructions agree in these; zeros of either sign are two constants.
  using Key = std::tuple<BodyOp, OpKind, std::uint32_t, std::uint64_t, std::vector<std::uint32_t>>;
  std::map<Key, std::vector<std::uint32_t>> known;
  for (std::size_t i = 0; i < instrs.size(); ++i) {
    if (!needed[i]) continue;
    BodyInstr& instr = instrs[i];
    for (std::uint32_t& arg : instr.args) arg = moved[arg];
    std::vector<std::uint32_t>& like = known[{
        instr.op, instr.pointwise, instr.op == BodyOp::kLoad ? instr.access.operand : instr.input,
        std::bit_cast<std::uint64_t>(instr.constant), instr.args}];
    const auto equal = std::ranges::find_if(
        like, [&](std::uint32_t other) { return body.instrs[other] == instr; });
    if (equal != like.end()) {
      moved[i] = *equal;
      continue;
    }
    moved[i] = static_cast<std::uint32_t>(body.instrs.size());
    like.push_back(moved[i]);
    body.instrs.push_back(std::move(instr));
  }
  stage.body = std::move(body);
  for (std::uint32_t* root : Roots(stage)) *root = moved[*root];
}

// The numbering that puts `order` (all dims) in this order.
std::vector<int> NumberingOf(const std::vector<int>& order) {
  std::vector<int> to(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    to[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  return to;
}

}  // namespace

void PushInside(LoopFunc& func, int dim) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(func.dims.size()); ++i) {
    if (i == func.num_outer) order.push_back(dim);
    if (i != dim) order.push_back(i);
  }
  if (order.size() < func.dims.size()) order.push_back(dim);
  Renumber(func, NumberingOf(order));
  --func.num_outer;
  for (Stage& stage : func.stages) stage.loops.push_back(func.num_outer);
}

void PullOutside(LoopFunc& func, const std::vector<int>& dims) {
  if (dims.empty()) return;
  std::vector<int> order;
  for (int dim = 0; dim < func.num_outer; ++dim) order.push_back(dim);
  order.insert(order.end(), dims.begin(), dims.end());
  for (int dim = func.num_outer; dim < static_cast<int>(func.dims.size()); ++dim) {
    if (!Contains(dims, dim)) order.push_back(dim);
  }
  for (Stage& stage : func.stages) {
    std::erase_if(stage.loops, [&](int dim) { return Contains(dims, dim); });
  }
  Renumber(func, NumberingOf(order));
  func.num_outer += static_cast<int>(dims.size());
}

void SplitStages(LoopFunc& func) {
  std::vector<Stage> stages;
  for (Stage& stage : func.stages) {
    std::vector<std::set<int>> sets;
    for (const Reduction& reduction : stage.reductions) {
      const std::set<int> over(reduction.over.begin(), reduction.over.end());
      if (std::find(sets.begin(), sets.end(), over) == sets.end()) sets.push_back(over);
    }
    for (std::size_t i = 0; i + 1 < sets.size(); ++i) {
      Stage part;
      part.loops = stage.loops;
      part.body = stage.body;
      for (const Reduction& reduction : stage.reductions) {
        if (std::set<int>(reduction.over.begin(), reduction.over.end()) == sets[i]) {
          part.reductions.push_back(reduction);
        }
      }
      stages.push_back(std::move(part));
    }
    if (sets.size() > 1) {
      std::erase_if(stage.reductions, [&](const Reduction& reduction) {
        return std::set<int>(reduction.over.begin(), reduction.over.end()) != sets.back();
      });
    }
    stages.push_back(std::move(stage));
  }
  func.stages = std::move(stages);
}

void InlineTemporary(LoopFunc& func, std::uint32_t id) {
  Body source;
  std::uint32_t value = 0;
  for (Stage& stage : func.stages) {
    if (Uses(stage, id)) {
      Inline(stage, id, source, value);
      ShareEqual(stage);
    }
    for (const Temporary& temporary : stage.temporaries) {
      if (temporary.id != id) continue;
      source = stage.body;
      value = temporary.value;
    }
    const auto removed =
        std::erase_if(stage.temporaries, [&](const Temporary& t) { return t.id == id; });
    if (removed > 0) ShareEqual(stage);
  }
}

void KeepLoads(LoopFunc& func) {
  std::uint32_t next = NextId(func);
  for (std::size_t s = 0; s < func.stages.size(); ++s) {
    for (std::uint32_t i = 0; i < func.stages[s].body.instrs.size(); ++i) {
      const BodyInstr load = func.stages[s].body.instrs[i];
      if (!LoadsRow(func, func.stages[s], load)) continue;
      bool any = false;
      for (std::size_t later = s + 1; later < func.stages.size(); ++later) {
        if (func.stages[later].loops != func.stages[s].loops) continue;
        any = ReplaceLoads(func.stages[later], load, next) || any;
      }
      if (any) func.stages[s].temporaries.push_back({next++, i, load.dtype});
    }
  }
}

}  // namespace stoker
