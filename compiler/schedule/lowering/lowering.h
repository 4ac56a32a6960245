// Lowering: groups -> kernels and the storages between them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/machine.h"
#include "compiler/schedule/fusion/stored_values.h"
#include "compiler/schedule/lowering/builder/loop_builder.h"
#include "compiler/schedule/lowering/builder/program_builder.h"
#include "compiler/schedule/lowering/loop_order.h"
#include "protocol/key/compile_options.h"

namespace stoker {

// The regions of a while, lowered by themselves. What stays the same in every trip is a parameter
// of theirs, and each output of the body updates the input that it becomes in the next.
struct WhilePrograms {
  Program condition;
  Program body;
};

// What a lowered graph starts from; outlives the lowering.
struct ScheduledGraph {
  const Graph& graph;
  const Reads& reads;
  const std::vector<bool>& prepared;
  const Grouping& grouping;
  const StoredValues& values;
  const std::map<NodeId, WhilePrograms>& whiles;
  std::vector<std::uint32_t> order;  // Of the groups, each after those it reads.
};

// Unimplemented, naming node and dim, where a size would have to be known; ResourceExhausted where
// a kernel would be too long. `failed`: the group for which that is so.
Result<Program> LowerGroups(const ScheduledGraph& scheduled, const Machine& machine,
                            Numerics numerics, std::uint32_t& failed);

// Where an operand is: element `index` of its storage, over the dims of some space.
struct Address {
  StorageId storage = kNoStorage;
  IndexMap index;
};

// The lowering of contractions, a class of its own (lower_contraction.h), shares what is here.
class Lowering {
 public:
  // `copied`: per output, whether it is made elsewhere and copied when everything else is done.
  Lowering(const ScheduledGraph& scheduled, const Machine& machine, Numerics numerics,
           const std::vector<bool>& copied);
  Result<Program> Run(std::uint32_t& failed) &&;

 private:
  friend class ContractionLowering;

  Status LowerGroup(const Group& group);
  Status LowerOutputs();
  Status CopyToOutput(std::uint32_t output);

  // lower_loop.cc
  Status LowerLoop(Group group, std::vector<ValueId> values);
  Status BuildLoop(Group& group, std::vector<Root>& roots, bool may_add_storages,
                   const std::string& label);
  // Computes `value` into a storage of its own.
  Result<StorageId> Copy(ValueId value, Layout layout, bool prepared);
  Status CopyTo(ValueId value, StorageId storage, bool prepared);
  // Makes sure that a step may load `value`.
  Status Materialize(ValueId value, bool prepared);

  // Storages that the outputs and the convolutions that read `value` ask for.
  std::vector<StorageId> AddFixedStorages(ValueId value, bool prepared, bool outputs_fit);
  // Those of them that do not lie as one of `storages` does, behind these.
  void AddFixedStorages(ValueId value, bool prepared, bool outputs_fit,
                        std::vector<StorageId>& storages);
  // The same of a loop, which may write them in any order of dims.
  std::vector<StorageId> AddLoopStorages(ValueId value, bool prepared);
  void AddWanted(ValueId value, bool outputs_fit, std::vector<StorageId>& storages);
  bool ProductsRead(ValueId value, const Layout& layout) const;
  std::optional<Layout> LayoutAsOutput(ValueId value, std::uint32_t output) const;
  // Whether the bytes of `value` become those of the output, with no copy on the way.
  bool BecomesOutput(ValueId value, std::uint32_t output) const;
  bool NeedsStorage(ValueId value, bool prepared);
  BufferKind KindFor(ValueId value, bool prepared) const;
  std::vector<ValueId> StoredMembers(const Group& group) const;

  std::optional<Address> AddressOf(ValueId value, const ElementIndex& index,
                                   const IndexSpace& space, bool prepared);
  std::optional<Address> AddressOfElement(const Node& view, const ElementIndex& index,
                                          const IndexSpace& space, bool prepared);
  // The same, after making a row-major copy of the value if there is no other way.
  Result<Address> AddressOrCopy(ValueId value, const ElementIndex& index, const IndexSpace& space,
                                bool prepared);

  // lower_attention.cc, lower_ordered.cc
  Status LowerAttention(const Group& group);
  Result<AttentionFunc> AttentionOf(const Node& node) const;  // Sizes and attributes.
  Result<AttentionOperand> ReadHeads(ValueId value, bool lanes_are_contiguous, bool prepared,
                                     std::vector<StorageId>& buffers);
  StorageId HeadsStorage(ValueId result, bool prepared, const std::vector<StorageId>& fixed);
  Status LowerOrdered(const Group& group);
  struct ResultStorages {
    StorageId written = kNoStorage;
    std::vector<StorageId> copies;
  };
  ResultStorages AddResultStorages(ValueId value, bool prepared);
  Status CopyResult(ValueId value, const ResultStorages& storages, bool prepared);
  void AppendOrdered(KernelFunc func, std::vector<StorageId> buffers, const Node& node,
                     bool prepared);
  Status LowerCumulative(const Node& node, bool prepared);
  Status LowerSort(const Node& node, bool prepared);
  Status LowerScatter(const Node& node, bool prepared);
  // What the scatter starts from, if nothing else reads that: its storage may become the result's.
  std::optional<ValueId> OnlyReadBy(const Node& scatter) const;
  Result<ResultStorages> AddScatterStorages(const Node& node, bool prepared);
  // Where each component of the index vectors is: all in one storage.
  Result<std::vector<Address>> ScatterIndices(const Node& node, const IndexSpace& space,
                                              const ElementIndex& batch, bool prepared);

  // lower_host.cc
  Status LowerHost(const Group& group);
  // From one of its elements on, a value's lie row-major.
  struct Part {
    StorageId storage = kNoStorage;
    SymDim first;
  };
  std::optional<Part> FindPart(ValueId value);
  // The same, after a copy if need be.
  Result<Part> PlaceOperand(ValueId value);
  Status MakeOutputAround(ValueId value);
  // Where the elements of `value` lie row-major, after a copy if need be.
  Result<StorageId> RowMajorStorage(ValueId value);
  // Row-major storages for a result, one of which is written and copied to the others.
  ResultStorages AddRowMajorResult(ValueId value);

  // lower_while.cc
  Status LowerWhile(const Group& group);
  // The storages of the regions' inputs before the first trip.
  Result<std::vector<StorageId>> StartLoop(const Node& node,
                                           const std::vector<ResultStorages>& results);

  Error AtNode(const Error& error, NodeId node) const;

  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  const Machine& machine_;
  const Numerics numerics_;
  ProgramBuilder builder_;
  const std::vector<bool>& copied_;
  std::vector<bool> output_written_;
  std::map<std::string, StorageId> packed_;  // What was packed how -> where.
  int copy_depth_ = 0;
};

}  // namespace stoker
