// InlinedRegion: the program of a region as part of that of the graph around it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/schedule/lowering/builder/program_builder.h"

namespace stoker {

using RegionSymbols = std::map<std::uint32_t, SymDim>;  // What they are outside.

class InlinedRegion {
 public:
  // `region`: lowered by itself, an output that updates an input in the memory of that. `inputs`:
  // the storages of its inputs. Both borrowed objects outlive this.
  InlinedRegion(const Program& region, std::vector<StorageId> inputs, RegionSymbols symbols,
                ProgramBuilder& builder);

  // What follows from the region's parameters alone; in `prepare`, where these do so too.
  void AppendPrepared();
  // All else.
  void AppendTrip();
  StorageId OutputOf(std::uint32_t output) const { return outputs_[output]; }

 private:
  void PlaceOutputs();
  void FindPreparedOutside();
  void PlaceStorages();
  StorageId Place(StorageId id) const;
  bool IsPreparedOutside(const Step& step) const;
  void Append(const Step& step, bool prepared);

  const Program& region_;
  const std::vector<StorageId> inputs_;
  const RegionSymbols symbols_;
  ProgramBuilder& builder_;
  std::vector<StorageId> outputs_;
  std::vector<bool> in_call_;  // Of the region's storages, prepared ones that a call has to make.
  std::vector<StorageId> placed_;  // By the region's storages.
};

}  // namespace stoker
