#include "runtime/cuda/driver/capture.h"

#include <cstdint>
#include <utility>

namespace stoker::cuda {
namespace {

struct CaptureState {
  int status = 0;
  const CuGraphNode* nodes = nullptr;  // Until the next call of the driver.
  std::size_t count = 0;
};

int StateOf(const Context& context, CuStream stream, CaptureState& state) {
  std::uint64_t id = 0;
  CuGraph graph = nullptr;
  return context.api().capture_state(stream, &state.status, &id, &graph, &state.nodes,
                                     &state.count);
}

}  // namespace

std::optional<Capture> Capture::Of(const Context& context, CuStream stream) {
  const DriverApi& api = context.api();
  if (api.capture_state == nullptr || api.set_capture_dependencies == nullptr) return std::nullopt;
  CaptureState state;
  // Of the default stream it is refused while another one is captured.
  if (StateOf(context, stream, state) != kCuSuccess || state.status != kCuCaptureActive) {
    return std::nullopt;
  }
  return Capture(context, stream);
}

Result<Capture::Nodes> Capture::Last() const {
  CaptureState state;
  STOKER_RETURN_IF_ERROR(
      context_->Check(StateOf(*context_, stream_, state), "cuStreamGetCaptureInfo"));
  if (state.status != kCuCaptureActive) return Internal("The capture of a stream has ended.");
  return Nodes(state.nodes, state.nodes + state.count);
}

Status Capture::ContinueAfter(Nodes nodes) const {
  return SetDependencies(std::move(nodes), kCuSetDependencies);
}

Status Capture::WaitFor(Nodes nodes) const {
  return SetDependencies(std::move(nodes), kCuAddDependencies);
}

Status Capture::SetDependencies(Nodes nodes, unsigned how) const {
  return context_->Check(
      context_->api().set_capture_dependencies(stream_, nodes.data(), nodes.size(), how),
      "cuStreamUpdateCaptureDependencies");
}

}  // namespace stoker::cuda
