// JobDevice: where a job's executables run: the cores of this process, or a GPU that it sees.
// Shared by all clients, because processors are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "client/core/execution/foreign_memory.h"
#include "protocol/base/result.h"
#include "runtime/cpu/device.h"
#include "runtime/cpu/queue.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/queue.h"

namespace stoker {

// How many threads the job computes with on its cores; 0: all it may use.
void SetNumThreads(int threads);
int NumThreads();

// Where calls on GPUs, those that are made later too, have their memory from, from now on; none:
// the driver.
void SetGpuAllocator(const std::optional<ForeignAllocator>& allocator);

// Thread-safe. Never destroyed: executables may be freed while the process's static objects go
// away.
class JobDevice {
 public:
  // "cpu", "cuda:0". Made when it is first asked for. InvalidArgument where it is none of these;
  // Unavailable or FailedPrecondition, with the reason, where there is no such device: asked for
  // again, it is looked for again.
  static Result<JobDevice*> Named(std::string_view name);

  const std::string& name() const { return name_; }
  Device& device();
  // Whether files may hold what was prepared for it.
  bool KeepsPrepared() const { return std::holds_alternative<Cores>(device_); }

 private:
  friend class CallQueue;
  friend void SetGpuAllocator(const std::optional<ForeignAllocator>& allocator);
  using Cores = std::unique_ptr<cpu::Device>;
  using Gpu = std::unique_ptr<cuda::Device>;

  JobDevice(std::string_view name, std::variant<Cores, Gpu> device)
      : name_(name), device_(std::move(device)) {}
  // Nothing on cores.
  void TakeMemoryOf(const std::optional<ForeignAllocator>& allocator);
  static Result<std::unique_ptr<JobDevice>> Make(std::string_view name);
  static Result<Cores> MakeCores();

  const std::string name_;
  const std::variant<Cores, Gpu> device_;
};

// The queue of one call: on a GPU the caller's stream, NULL the legacy default one; on cores the
// calling thread and its workers, whatever the stream. Not thread-safe.
class CallQueue {
 public:
  CallQueue(const JobDevice& device, void* stream);

  Queue& operator*();
  Queue* operator->() { return &**this; }

 private:
  std::variant<std::monostate, cpu::Queue, cuda::Queue> queue_;
};

}  // namespace stoker
