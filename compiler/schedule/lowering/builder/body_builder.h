// BodyBuilder: writes the Body that computes graph values at a point of an iteration space.
//
// Views become index arithmetic, pads and concatenations predicates, gathers data-dependent loads.
// Evaluation goes from a value to its operands and ends at what the kernel is given (reductions and
// temporaries of earlier stages), at what is in memory, and at constants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/fusion/group.h"
#include "compiler/schedule/lowering/builder/program_builder.h"

namespace stoker {

// Evaluation gives up beyond this: such a body would take longer to compile than to run.
inline constexpr std::size_t kMaxBodyInstrs = 1 << 12;

class BodyBuilder {
 public:
  // A value computed earlier in the kernel, seen where its element `index` is needed.
  struct Given {
    std::uint32_t input = 0;
    DType dtype = DType::kF32;
    ElementIndex index;
  };

  // `group`: what this kernel computes itself, although it may be in memory too. May be nullptr.
  BodyBuilder(const Graph& graph, ProgramBuilder& program, KernelOperands& operands,
              const IndexSpace& space, const Group* group, bool prepared);

  // See FusionLimits::reads_at_chosen_index.
  void ReadAtChosenIndex(bool may) { reads_at_chosen_index_ = may; }
  void Give(ValueId value, Given given) { given_[value] = std::move(given); }

  // The instruction that has element `index` of `value`, in the compute type of its dtype.
  // NotFound with missing() set: some value must be in memory first.
  Result<std::uint32_t> Evaluate(ValueId value, const ElementIndex& index);
  // What a reduction node combines, at its kept index `kept` and its reduced indices `over`.
  Result<std::uint32_t> EvaluateReduced(const Node& node, const ElementIndex& kept,
                                        const std::vector<IndexMap>& over);
  std::uint32_t EmitPointwise(OpKind kind, DType dtype, std::vector<std::uint32_t> args);
  std::uint32_t EmitInput(std::uint32_t input, DType dtype);

  std::optional<ValueId> missing() const { return missing_; }
  // Without the instructions that no value in `roots` needs; `roots` are renumbered.
  Body Take(std::vector<std::uint32_t*> roots);
  DType dtype_of(std::uint32_t instr) const { return body_.instrs[instr].dtype; }
  // What a store of `dtype` is given of `instr`: the argument when it only rounds to `dtype`, which
  // the store does anyway.
  std::uint32_t ForStore(std::uint32_t instr, DType dtype);

 private:
  struct Entry {
    ElementIndex index;
    std::optional<std::uint32_t> predicate;
    std::uint32_t instr = 0;
  };

  // What a concatenation along one dim is put together of, if that is one value: consecutive ranges
  // of its indices.
  struct Slices {
    ValueId value = 0;
    std::vector<SymDim> starts, sizes;
    friend bool operator==(const Slices&, const Slices&) = default;
  };
  struct ChosenIndex {
    IndexMap index;  // Of the concatenation.
    Slices slices;   // Of whichever value.
    std::uint32_t instr = 0;
  };

  std::uint32_t Emit(BodyInstr instr);
  std::uint32_t EmitInt(std::int64_t value, DType dtype);
  std::uint32_t EmitZero(DType dtype);
  std::uint32_t EmitIndex(const IndexMap& map);
  std::uint32_t EmitConvert(std::uint32_t arg, DType from, DType to);
  // See BodyInstr::round_to: `instr`, right for being rounded to `dtype` next.
  std::uint32_t BeforeRounding(std::uint32_t instr, DType dtype);
  // The same as what is loaded again from memory: rounded to the value's own `dtype`.
  std::uint32_t AsStored(std::uint32_t instr, DType dtype);
  std::uint32_t EmitIdentity(Combine combine, DType dtype);
  std::uint32_t EmitAnd(std::optional<std::uint32_t> a, std::uint32_t b);
  std::uint32_t EmitCompare(CompareDirection direction, const IndexMap& a, const SymDim& b);
  // A dim whose index is the value of an i64 instruction in [0, extent).
  IndexMap VirtualDim(std::uint32_t instr, const SymDim& extent);
  // The predicate that `index` is inside of a value of these sizes; nothing when it always is.
  std::optional<std::uint32_t> Inside(const ElementIndex& index, const std::vector<SymDim>& sizes);
  Result<std::uint32_t> EvaluateScalarIndex(ValueId value, const ElementIndex& index);
  Result<std::uint32_t> ClampedStart(ValueId value, const ElementIndex& index, const SymDim& limit);

  Result<std::uint32_t> Compute(ValueId value, const ElementIndex& index);
  Result<std::uint32_t> Load(StorageId storage, DType dtype, const ElementIndex& index);
  Result<std::uint32_t> Pointwise(const Node& node, const ElementIndex& index);
  Result<std::uint32_t> Constant(const Node& node, const TensorType& type);
  Result<std::uint32_t> View(const Node& node, const ElementIndex& index);
  Result<std::uint32_t> Pad(const Node& node, const ElementIndex& index);
  Result<std::uint32_t> Concatenate(const Node& node, const ElementIndex& index);
  std::optional<Slices> SlicesOfOne(const Node& node, std::size_t dim);
  bool IsInOne(const std::vector<SymDim>& sizes, const IndexMap& index) const;
  std::uint32_t IndexIn(const Slices& slices, const IndexMap& index);
  Result<std::uint32_t> Gather(const Node& node, const ElementIndex& index);
  Result<std::uint32_t> DynamicSlice(const Node& node, const ElementIndex& index);
  Result<std::uint32_t> DynamicUpdateSlice(const Node& node, const ElementIndex& index);
  Result<std::uint32_t> Window(const Node& node, const ElementIndex& kept,
                               const std::vector<IndexMap>& over);
  Result<std::uint32_t> ConvolutionProduct(const Node& node, const ElementIndex& kept,
                                           const std::vector<IndexMap>& over);
  // Evaluates under `predicate`; where it is false the result is `otherwise`.
  Result<std::uint32_t> EvaluateIf(std::optional<std::uint32_t> predicate, ValueId value,
                                   const ElementIndex& index, std::uint32_t otherwise);
  Error Missing(ValueId value);
  Error Symbolic(const Node& node, const std::string& what) const;

  const Graph& graph_;
  ProgramBuilder& program_;
  KernelOperands& operands_;
  IndexSpace space_;                           // With virtual dims at the end.
  int num_dims_;                               // Of the iteration space itself.
  std::vector<std::uint32_t> virtual_instrs_;  // Per virtual dim.
  const Group* group_;
  bool prepared_;
  std::optional<std::uint32_t> predicate_;  // Under which loads are evaluated now.
  bool reads_at_chosen_index_ = false;
  std::vector<ChosenIndex> chosen_;
  std::map<ValueId, Given> given_;
  std::map<ValueId, std::vector<Entry>> known_;
  Body body_;
  std::optional<ValueId> missing_;
};

}  // namespace stoker
