// Device: this process's processor cores, and what executables on them share: the thread pool, the
// loaded kernels and constants, the prepared parameters, the arenas.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker::cpu {

// Gives the bytes of a blob; called only for blobs that are not loaded yet.
using BlobSource = std::function<Result<std::string>(const Digest& blob)>;

// Thread-safe. Must outlive the executables and bindings made on it. A process needs one.
class Device {
 public:
  // Threads are started by the first call that wants them.
  static Result<std::unique_ptr<Device>> Create();

  ~Device();

  const Target& host() const;
  // Digests of the kernel blobs that are loaded, sorted: what need not be sent again.
  std::vector<Digest> LoadedKernels() const;

 private:
  friend class Executable;
  struct State;  // device_state.h
  explicit Device(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace stoker::cpu
