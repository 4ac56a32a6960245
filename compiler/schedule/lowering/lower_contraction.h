// The lowering of contractions: with micro-kernels of ours, or with a library of the machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/lowering/lowering.h"
#include "compiler/schedule/lowering/product_dims.h"

namespace stoker {

// The parts of a contraction while it is lowered.
struct ContractionParts {
  ContractionParts(const Node& anchor, const ProgramBuilder& builder)
      : node(anchor), operands(builder) {}

  bool IsUnit(int dim) const { return space.extent(dim) == SymDim(1); }
  SymDim ProductOf(const std::vector<int>& dims) const;

  const Node& node;
  ContractionFunc func;
  KernelOperands operands;
  std::vector<Root> roots;
  // Dims of the group's space, outermost first.
  std::vector<int> batch;
  std::vector<int> m;
  int n = 0;
  // The group's space with the k dims behind it.
  IndexSpace space;
  std::vector<int> k;
  // Of a convolution: windows that stick out, with the dims of the space in place of m and k.
  std::vector<Halo> halos;
  Address lhs;
  ElementIndex rhs_index;
  std::string label;
};

// Of one group; `lowering` outlives it.
class ContractionLowering {
 public:
  explicit ContractionLowering(Lowering& lowering);
  Status Lower(Group group);

 private:
  Status PlanEpilogue(Group& group, ContractionParts& parts);
  Status FinishContraction(Group& group, ContractionParts& parts);
  void AddContractionStorages(Group& group, ContractionParts& parts);
  Result<std::optional<DimSplit>> FindEpilogueSplit(Group& group, ContractionParts& parts);
  bool SplitRows(Group& group, ContractionParts& parts, const DimSplit& split);
  void SetNests(ContractionParts& parts);
  Status BuildEpilogue(const Group& group, ContractionParts& parts);

  // lower_dot.cc, lower_convolution.cc
  Status LowerDot(Group& group, ContractionParts& parts);
  // Adds the contracted dims to the parts' space; the index of the left operand there.
  ElementIndex SetContracted(const Group& group, ContractionParts& parts) const;
  Status LowerConvolution(Group& group, ContractionParts& parts);
  ElementIndex WalkWindow(const Group& group, ContractionParts& parts);
  bool ReadImage(ContractionParts& parts, const Address& address, std::int64_t min_run);

  // lower_product.cc
  struct ProductParts;
  // `root`: of the group, what is to be in memory.
  Status LowerProduct(Group group, ValueId root);
  Status LowerApart(const Group& group);
  Result<bool> MatchEpilogue(const Group& group, ProductParts& parts);
  struct SeenFactor {
    ValueId value = 0;
    ElementIndex index;
  };
  SeenFactor BehindTransposes(const ProductParts& parts, const ElementIndex& index,
                              int which) const;
  IndexMap RowMajorIndex(const ProductParts& parts, const SeenFactor& seen) const;
  Result<Address> PlaceFactor(const Group& group, const ProductParts& parts,
                              const ElementIndex& index, int which);
  template <typename Fits>
  Result<Address> CopyFactor(const Group& group, const ProductParts& parts,
                             const ElementIndex& index, int which, Fits fits);
  template <typename Fits>
  Layout LayoutOfCopy(const ProductParts& parts, const ElementIndex& index, int which,
                      Fits fits) const;
  Status PlaceFactors(const Group& group, ProductParts& parts);
  static IndexMap DenseIndex(const ContractionParts& parts);
  bool FitsProduct(const Group& group, const ProductParts& parts, const Layout& layout) const;
  Layout OwnLayoutOf(const Group& group, const ProductParts& parts) const;
  bool PaysToAlignRows(const ProductParts& parts, const FlatProduct& flat) const;
  std::optional<Layout> AlignedLayoutOf(const Group& group, const ProductParts& parts,
                                        const FlatProduct& dense) const;
  std::vector<StorageId> AddProductStorages(const Group& group, const ProductParts& parts,
                                            const FlatProduct& dense);
  Status AppendProduct(const Group& group, const ProductParts& parts, const FlatProduct& flat,
                       StorageId written, const IndexMap& d);
  Status AppendColumns(const Group& group, const ProductParts& parts, const FlatProduct& flat,
                       const SymDim& first, StorageId written, const IndexMap& d);

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

  Lowering& lowering_;
  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  const Machine& machine_;
  const Numerics numerics_;
  ProgramBuilder& builder_;
  std::map<std::string, StorageId>& packed_;
};

// So often dims are split, or operands copied, until accesses are affine.
inline constexpr int kMaxContractionAttempts = 16;

// Batch dims, then free ones, then contracted ones.
Layout LayoutOfRows(int rank, const std::vector<std::int64_t>& batch,
                    const std::vector<std::int64_t>& contract);

// Slowest stride first; of symbolic strides, constants last.
void SortByStride(std::vector<int>& dims, const IndexMap& index);

}  // namespace stoker
