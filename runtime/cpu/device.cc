#include "runtime/cpu/device.h"

#include <utility>

#include "runtime/cpu/device_state.h"

namespace stoker::cpu {

Result<std::unique_ptr<Device>> Device::Create() {
  // Host() also asks for the AMX permission, which kernels with amx_bf16 need.
  STOKER_TRY(Target host, Target::Host());
  auto state = std::make_unique<State>();
  state->host = std::move(host);
  return std::unique_ptr<Device>(new Device(std::move(state)));
}

Device::Device(std::unique_ptr<State> state) : state_(std::move(state)) {}
Device::~Device() = default;

const Target& Device::host() const { return state_->host; }
std::vector<Digest> Device::LoadedKernels() const { return state_->kernels.Keys(); }

}  // namespace stoker::cpu
