#include "tests/device/captured.h"

#include "protocol/base/host/nvidia_libraries.h"

namespace stoker::device_test {

Result<GraphApi> GraphApi::Load(const std::string& library) {
  STOKER_TRY(const NvidiaLibrary driver, NvidiaLibrary::Load(library));
  GraphApi api;
  const bool has_all = driver.Find("cuStreamBeginCapture_v2", api.begin) &&
                       driver.Find("cuStreamEndCapture", api.end) &&
                       driver.Find("cuGraphInstantiateWithFlags", api.instantiate) &&
                       driver.Find("cuGraphLaunch", api.launch) &&
                       driver.Find("cuGraphExecDestroy", api.destroy_instance) &&
                       driver.Find("cuGraphDestroy", api.destroy_graph);
  if (!has_all) return FailedPrecondition("The driver has no graphs of streams.");
  return api;
}

Result<std::unique_ptr<Captured>> Captured::Of(const GraphApi& api, const cuda::Device& device,
                                               cuda::CuStream stream,
                                               const std::function<Status()>& give) {
  constexpr int kThisThread = 1;
  std::unique_ptr<Captured> made(new Captured(api, device, stream));
  const cuda::Context& context = *device.context();
  STOKER_TRY(const cuda::Context::Current current, context.MakeCurrent());
  STOKER_RETURN_IF_ERROR(context.Check(api.begin(stream, kThisThread), "cuStreamBeginCapture"));
  const Status given = give();
  const int ended = api.end(stream, &made->graph_);
  STOKER_RETURN_IF_ERROR(given);
  STOKER_RETURN_IF_ERROR(context.Check(ended, "cuStreamEndCapture"));
  STOKER_RETURN_IF_ERROR(context.Check(api.instantiate(&made->instance_, made->graph_, 0),
                                       "cuGraphInstantiateWithFlags"));
  return made;
}

Captured::~Captured() {
  const auto current = device_.context()->MakeCurrent();
  if (!current.ok()) return;
  if (instance_ != nullptr) api_.destroy_instance(instance_);
  if (graph_ != nullptr) api_.destroy_graph(graph_);
}

Status Captured::Launch() const {
  STOKER_TRY(const cuda::Context::Current current, device_.context()->MakeCurrent());
  return device_.context()->Check(api_.launch(instance_, stream_), "cuGraphLaunch");
}

}  // namespace stoker::device_test
