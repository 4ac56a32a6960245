// Artifacts for tests: plans put together by hand over the kernels in kernels/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/artifact/artifact.h"
#include "runtime/cpu/device.h"

namespace stoker::cpu {

// The bytes of kernels/<name>.so.
std::string KernelBytes(std::string_view name);

BufferRef In(std::uint32_t index, SymDim size);
BufferRef Out(std::uint32_t index, SymDim size);
BufferRef Arena(SymDim offset, SymDim size);
BufferRef PreparedAt(SymDim offset, SymDim size);
BufferRef ConstantAt(std::uint32_t index, SymDim size);

// Collects an artifact and the blobs it names.
class PlanBuilder {
 public:
  PlanBuilder();

  void Input(TensorType type, InputRole role = InputRole::kActivation);
  void Output(TensorType type);
  std::uint32_t Constant(std::string bytes);
  std::uint32_t Kernel(std::string_view name);
  static stoker::Launch Launch(std::uint32_t kernel, SymDim tasks, std::vector<BufferRef> buffers,
                               std::vector<SymDim> dims = {});

  Artifact artifact;
  std::map<Digest, std::string> blobs;

  std::string Bytes() const { return EncodeArtifact(artifact); }
  BlobSource Source() const;
};

// f32 inputs a[n], w[n] (a parameter), output: a + 2w, with 2w prepared.
PlanBuilder AddDoubledWeight(std::int64_t n);
// A chain of `launches` kernels over n floats that alternates between two arena buffers.
PlanBuilder Chain(int launches, std::int64_t n, std::int64_t min_tasks_per_chunk);

}  // namespace stoker::cpu
