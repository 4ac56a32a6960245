// Capture: the graph that a stream is captured into. The driver puts each thing that the stream is
// given after certain nodes of the graph; these can be asked for, and changed, so that one stream
// makes a graph with branches, without events.
#pragma once

#include <optional>
#include <vector>

#include "protocol/base/result.h"
#include "runtime/cuda/driver/context.h"

namespace stoker::cuda {

// Not thread-safe, as the stream. The context is current; both outlive it.
class Capture {
 public:
  // Valid as long as the stream is captured.
  using Nodes = std::vector<CuGraphNode>;

  // Of what the stream is captured into; nothing where it is not, or the driver cannot say.
  static std::optional<Capture> Of(const Context& context, CuStream stream);

  // What the next thing is put after.
  Result<Nodes> Last() const;
  // The next thing is put after these. Each is of this capture.
  Status ContinueAfter(Nodes nodes) const;
  // It is put after these too.
  Status WaitFor(Nodes nodes) const;

 private:
  Status SetDependencies(Nodes nodes, unsigned how) const;
  Capture(const Context& context, CuStream stream) : context_(&context), stream_(stream) {}

  const Context* context_;
  CuStream stream_;
};

}  // namespace stoker::cuda
