// WarmPlan: what one daemon is to have before a job asks for it: the requests and captures of a
// manifest, for the processors they are for, or the daemon's own entries of earlier compilers. Each
// key stands in it once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/core/daemon/daemon_client.h"
#include "protocol/base/result.h"
#include "protocol/manifest/manifest.h"

namespace stoker {

struct WarmOptions {
  std::string name_space;          // Empty: that of each record.
  std::vector<Target> targets;     // Empty: that of each request.
  std::vector<Numerics> numerics;  // Empty: those of each request.
};

enum class WarmOutcome {
  kHit,       // It is there.
  kMissing,   // It is not, and was not asked for.
  kCompiled,  // It is there now.
  kStored,    // The same, of a capture.
};

struct WarmItem {
  bool is_capture = false;
  std::string name_space;
  Digest key;
  std::string label;   // For people.
  std::string target;  // Of a request; of a capture, if its key says so.
};

class WarmPlan {
 public:
  // Asks the daemon for its compiler, which is part of every key. Captures that another compiler's
  // daemon took, or that are for other targets than those of the options, would never be found:
  // they are left out and counted. What of the manifest does not decode is an item that fails.
  static Result<WarmPlan> OfManifest(Manifest manifest, const WarmOptions& options,
                                     DaemonClientOptions daemon);
  // The `limit` entries of other compilers than the daemon's that were used most.
  static Result<WarmPlan> OfStale(const std::string& name_space, std::uint32_t limit,
                                  DaemonClientOptions daemon);

  std::size_t size() const { return steps_.size(); }
  const WarmItem& item(std::size_t index) const { return steps_.at(index).item; }
  std::size_t skipped_captures() const { return skipped_captures_; }
  std::uint64_t damaged_bytes() const { return manifest_ ? manifest_->damaged_bytes() : 0; }
  std::uint64_t cut_bytes() const { return manifest_ ? manifest_->cut_bytes() : 0; }
  const std::string& compiler_epoch() const { return compiler_epoch_; }

  // Has one item made, unless `check_only`. Waits while the daemon has no room for more. From any
  // thread.
  Result<WarmOutcome> Run(std::size_t index, bool check_only);

 private:
  struct Step {
    WarmItem item;
    // A call without its graph; the place of a capture in the manifest; or what is wrong with it.
    std::variant<wire::CompileCall, std::size_t, Error> work;
    std::optional<std::size_t> request;  // Of the manifest: it has the graph.
  };

  explicit WarmPlan(DaemonClientOptions daemon);
  Status Greet();
  void AddRequests(const WarmOptions& options);
  void AddCaptures(const WarmOptions& options);
  void AddCall(wire::CompileCall call, std::optional<std::size_t> request);
  void AddDamaged(std::string label, const Error& error);
  Result<WarmOutcome> Obtain(const Step& step, wire::CompileCall call, bool check_only);
  Result<WarmOutcome> Store(wire::CapturePut put, const WarmItem& item, bool check_only);

  std::unique_ptr<DaemonClient> daemon_;
  std::optional<Manifest> manifest_;
  std::string compiler_epoch_;
  std::vector<Step> steps_;
  std::size_t skipped_captures_ = 0;
};

}  // namespace stoker
