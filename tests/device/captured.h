// Captured: what a stream was given, as a CUDA graph that is launched again. The product captures
// nothing itself: PyTorch does.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "protocol/base/result.h"
#include "runtime/cuda/device.h"

extern "C" struct CUgraphExec_st;

namespace stoker::device_test {

// Functions of the driver that only this needs; all return a CUresult.
struct GraphApi {
  int (*begin)(cuda::CuStream stream, int mode) = nullptr;
  int (*end)(cuda::CuStream stream, cuda::CuGraph* graph) = nullptr;
  int (*instantiate)(CUgraphExec_st** made, cuda::CuGraph graph, std::uint64_t flags) = nullptr;
  int (*launch)(CUgraphExec_st* graph, cuda::CuStream stream) = nullptr;
  int (*destroy_instance)(CUgraphExec_st* graph) = nullptr;
  int (*destroy_graph)(cuda::CuGraph graph) = nullptr;

  // `library`: the driver.
  static Result<GraphApi> Load(const std::string& library);
};

class Captured {
 public:
  // Of what `give` gives the stream.
  static Result<std::unique_ptr<Captured>> Of(const GraphApi& api, const cuda::Device& device,
                                              cuda::CuStream stream,
                                              const std::function<Status()>& give);
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  Status Launch() const;  // Into the stream.

 private:
  Captured(const GraphApi& api, const cuda::Device& device, cuda::CuStream stream)
      : api_(api), device_(device), stream_(stream) {}

  const GraphApi api_;
  const cuda::Device& device_;
  const cuda::CuStream stream_;
  cuda::CuGraph graph_ = nullptr;
  CUgraphExec_st* instance_ = nullptr;
};

}  // namespace stoker::device_test
