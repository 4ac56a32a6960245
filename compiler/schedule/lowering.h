// Lowering: groups -> kernels and the storages between them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/machine.h"
#include "compiler/schedule/loop_builder.h"
#include "compiler/schedule/program_builder.h"
#include "compiler/schedule/stored_values.h"
#include "protocol/key/compile_options.h"

namespace stoker {

// What a lowered graph starts from; outlives the lowering.
struct ScheduledGraph {
  const Graph& graph;
  const Reads& reads;
  const std::vector<bool>& prepared;
  const Grouping& grouping;
  const StoredValues& values;
  std::vector<std::uint32_t> order;  // Of the groups, each after those it reads.
};

// Unimplemented, naming node and dim, where a size would have to be known.
Result<Program> LowerGroups(const ScheduledGraph& scheduled, const Machine& machine,
                            Numerics numerics);

// Where an operand is: element `index` of its storage, over the dims of some space.
struct Address {
  StorageId storage = kNoStorage;
  IndexMap index;
};

class Lowering {
 public:
  Lowering(const ScheduledGraph& scheduled, const Machine& machine, Numerics numerics);
  Result<Program> Run() &&;

 private:
  Status LowerGroup(const Group& group);
  Status LowerOutputs();

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
  bool NeedsStorage(ValueId value, bool prepared);
  BufferKind KindFor(ValueId value, bool prepared) const;
  std::vector<ValueId> StoredMembers(const Group& group) const;

  std::optional<Address> AddressOf(ValueId value, const ElementIndex& index,
                                   const IndexSpace& space, bool prepared);
  // The same, after making a row-major copy of the value if there is no other way.
  Result<Address> AddressOrCopy(ValueId value, const ElementIndex& index, const IndexSpace& space,
                                bool prepared);

  // lower_contraction.cc
  Status LowerContraction(Group group);
  struct ContractionParts;
  Status LowerDot(Group& group, ContractionParts& parts);
  Status LowerConvolution(Group& group, ContractionParts& parts);
  Status PlanEpilogue(Group& group, ContractionParts& parts);
  Status FinishContraction(Group& group, ContractionParts& parts);

  // lower_pack.cc
  // What part of a packed matrix is read from; the part has n columns.
  struct PackSource {
    SymDim n;
    Address matrix;
    std::optional<Address> scale;  // Multiplied in.
  };
  Result<StorageId> PackRhs(ContractionParts& parts, bool prepared);
  Result<std::vector<PackSource>> FindPackSources(ContractionParts& parts, ValueId value,
                                                  bool prepared);
  Result<std::vector<PackSource>> SplitConcatenation(ContractionParts& parts, const Node& node,
                                                     const ElementIndex& index, bool prepared);
  Status AppendPack(ContractionParts& parts, const PackSource& source, StorageId packed,
                    const SymDim& offset, bool prepared);

  // lower_attention.cc, lower_ordered.cc
  Status LowerAttention(const Group& group);
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
  // Where each component of the index vectors is: all in one storage.
  Result<std::vector<Address>> ScatterIndices(const Node& node, const IndexSpace& space,
                                              const ElementIndex& batch, bool prepared);

  Error AtNode(const Error& error, NodeId node) const;

  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  const Machine& machine_;
  const Numerics numerics_;
  ProgramBuilder builder_;
  std::vector<bool> output_written_;
  std::map<std::string, StorageId> packed_;  // What was packed how -> where.
  int copy_depth_ = 0;
};

}  // namespace stoker
