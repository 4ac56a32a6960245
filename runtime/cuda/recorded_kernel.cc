#include "runtime/cuda/recorded_kernel.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stoker::cuda {
namespace {

// CUlaunchAttributeID. A launch takes these along: cooperative, cluster, how clusters are placed,
// how much of the fast memory is shared.
constexpr int kTaken[] = {2, 4, 5, 14};
// A kernel has these of its stream: priority, and which memory operations its own wait for.
constexpr int kOfStream[] = {8, 9};
constexpr int kLastAttribute = 16;

bool CanRecord(const DriverApi& api) {
  return api.begin_capture != nullptr && api.end_capture != nullptr && api.graph_nodes != nullptr &&
         api.node_type != nullptr && api.kernel_node != nullptr &&
         api.kernel_attribute != nullptr && api.destroy_graph != nullptr &&
         api.launch_configured != nullptr;
}

}  // namespace

std::shared_ptr<const RecordedKernel> RecordedKernel::Of(std::shared_ptr<const Context> context,
                                                         CuStream stream, const GiveFn& give) {
  const DriverApi& api = context->api();
  if (!CanRecord(api)) return nullptr;
  std::shared_ptr<RecordedKernel> made(new RecordedKernel(std::move(context)));
  if (api.begin_capture(stream, kCuCaptureRelaxed) != kCuSuccess) return nullptr;
  const Status given = give(stream);
  const int ended = api.end_capture(stream, &made->graph_);
  if (!given.ok() || ended != kCuSuccess || made->graph_ == nullptr) return nullptr;
  if (!made->TakeApart()) return nullptr;
  return made;
}

RecordedKernel::~RecordedKernel() {
  if (graph_ == nullptr) return;
  if (const auto current = context_->MakeCurrent(); current.ok())
    context_->api().destroy_graph(graph_);
}

bool RecordedKernel::TakeApart() {
  const DriverApi& api = context_->api();
  CuGraphNode nodes[2] = {};
  std::size_t count = std::size(nodes);
  if (api.graph_nodes(graph_, nodes, &count) != kCuSuccess || count != 1) return false;
  int type = -1;
  return api.node_type(nodes[0], &type) == kCuSuccess && type == kCuKernelNode &&
         api.kernel_node(nodes[0], &kernel_) == kCuSuccess && TakeAttributes(nodes[0]);
}

bool RecordedKernel::TakeAttributes(CuGraphNode node) {
  for (int number = 1; number <= kLastAttribute; ++number) {
    CuLaunchAttribute attribute{};
    attribute.number = number;
    const int found = context_->api().kernel_attribute(node, number, attribute.value);
    if (found != kCuSuccess || std::ranges::count(attribute.value, 0) == kCuAttributeBytes) {
      continue;
    }
    if (std::ranges::find(kTaken, number) != std::end(kTaken)) {
      attributes_.push_back(attribute);
    } else if (std::ranges::find(kOfStream, number) == std::end(kOfStream)) {
      return false;
    }
  }
  return true;
}

Status RecordedKernel::GiveTo(CuStream stream) const {
  const CuLaunchConfig configuration{
      kernel_.grid_x,       kernel_.grid_y,
      kernel_.grid_z,       kernel_.block_x,
      kernel_.block_y,      kernel_.block_z,
      kernel_.shared_bytes, stream,
      attributes_.data(),   static_cast<unsigned>(attributes_.size())};
  void* const function = kernel_.function != nullptr ? kernel_.function : kernel_.kernel;
  const int result = context_->api().launch_configured(
      &configuration, static_cast<CuFunction>(function), kernel_.values, kernel_.extra);
  if (result == kCuSuccess) return Ok();  // No text is made.
  return context_->Check(result, "Launch of a library's kernel");
}

Recorder::~Recorder() {
  if (stream_ == nullptr) return;
  if (const auto current = context_->MakeCurrent(); current.ok())
    context_->api().destroy_stream(stream_);
}

std::shared_ptr<const RecordedKernel> Recorder::Record(const RecordedKernel::GiveFn& give) {
  const std::lock_guard lock(mutex_);
  if (!CanRecord(context_->api())) return nullptr;
  if (stream_ == nullptr &&
      context_->api().create_stream(&stream_, kCuStreamNonBlocking) != kCuSuccess) {
    stream_ = nullptr;
    return nullptr;
  }
  return RecordedKernel::Of(context_, stream_, give);
}

std::shared_ptr<const RecordedKernel> RecordedCall::At(const Addresses& addresses,
                                                       const RecordFn& record) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(places_, addresses, &Place::addresses);
  if (found == places_.end()) {
    places_[next_] = {addresses, 1, std::nullopt};
    next_ = (next_ + 1) % kMostPlaces;
    return nullptr;
  }
  if (found->runs < kRunsBefore) {
    ++found->runs;
  } else if (!found->kernel) {
    found->kernel = record();
  }
  return found->kernel.value_or(nullptr);
}

}  // namespace stoker::cuda
