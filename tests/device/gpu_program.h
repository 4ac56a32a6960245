// GpuProgram: a graph compiled for a GPU and loaded there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/kernel/scheduled_kernel.h"
#include "compiler/pipeline.h"
#include "protocol/artifact/artifact.h"
#include "protocol/graph/interpret/interpreter.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/queue.h"

namespace stoker::device_test {

// A kernel for the device, in the form that it loads.
using AssembleFn = std::function<Result<std::string>(const ScheduledKernel&, const Target&)>;

struct LaunchTime {
  std::string label;
  std::string how;  // Its schedule.
  double seconds = 0;
};

std::string OneLine(const CudaSchedule& schedule);  // As it is printed, but for the launch.

class GpuProgram {
 public:
  // Unimplemented where some kernel has no schedule for a GPU.
  static Result<std::unique_ptr<GpuProgram>> Make(const Graph& graph, cuda::Device& device,
                                                  const AssembleFn& assemble,
                                                  const SymBindings& symbols = {});
  // The same with another schedule for the only kernel.
  static Result<std::unique_ptr<GpuProgram>> MakeOf(PipelineResult pipeline, cuda::Device& device,
                                                    const AssembleFn& assemble,
                                                    const SymBindings& symbols = {});

  // Places for inputs and outputs, `skew` bytes behind an aligned address; the outputs are filled
  // with 0x5a. One that updates an input is made there.
  Status Place(cuda::Queue& queue, int skew);
  Status SetInputs(const std::vector<InterpreterTensor>& inputs, cuda::Queue& queue);
  // Inputs of any contents without much work, for timings.
  Status SetNoise(cuda::Queue& queue, std::uint64_t seed);
  Status Run(cuda::Queue& queue);
  // The same launches, each as a list of its own: nothing is known of what they need of each other.
  // The arena must be where it was in every call.
  Status RunOneByOne(cuda::Queue& queue);
  Result<std::vector<LaunchTime>> Profile(cuda::Queue& queue);
  Result<std::vector<InterpreterTensor>> Outputs(cuda::Queue& queue) const;
  Result<std::vector<InterpreterTensor>> Inputs(cuda::Queue& queue) const;  // As they are now.

  std::int64_t bytes() const;     // Of inputs and outputs.
  std::string Schedules() const;  // Of its kernels, in one line.
  const PipelineResult& pipeline() const { return pipeline_; }

 private:
  GpuProgram(PipelineResult pipeline, cuda::Device& device, SymBindings symbols)
      : pipeline_(std::move(pipeline)), device_(device), symbols_(std::move(symbols)) {}

  struct Tensor {
    DType dtype = DType::kF32;
    std::vector<std::int64_t> shape;
    std::int64_t bytes = 0;
    DeviceMemory memory;
    std::byte* at = nullptr;
  };

  static Result<InterpreterTensor> Contents(const Tensor& tensor, cuda::Queue& queue);
  Result<Tensor> TensorOf(const TensorType& type) const;
  Result<Artifact> MakeArtifact(const AssembleFn& assemble);
  Status Load(const AssembleFn& assemble);

  PipelineResult pipeline_;
  cuda::Device& device_;
  const SymBindings symbols_;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<DeviceMemory> constants_;
  DeviceMemory prepared_;
  std::unique_ptr<const LaunchList> prepare_;
  std::unique_ptr<const LaunchList> launches_;
  std::vector<std::unique_ptr<const LaunchList>> one_by_one_;
  LaunchPlan plan_;
  std::vector<std::byte*> addresses_;
};

}  // namespace stoker::device_test
