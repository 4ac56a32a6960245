// Session: one client's requests. Finds the artifact of a request in memory, then at the daemon;
// has it compiled on a miss. What comes back is verified: somebody who is trusted signed it,
// digests match, the artifact is the one that was asked for.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/core/daemon/daemon_client.h"
#include "client/core/warm/recorder.h"
#include "protocol/artifact/artifact.h"
#include "protocol/key/compile_request.h"

namespace stoker {

// An artifact with the bytes of everything it names. Shared: several executables may be made of
// one.
struct ArtifactBundle {
  std::string artifact_bytes;  // Of `artifact`, with signatures.
  Artifact artifact;
  std::map<Digest, std::shared_ptr<const std::string>> blobs;  // Kernels and constants.
};

struct Obtained {
  std::shared_ptr<const ArtifactBundle> bundle;
  Digest request_key;
  Numerics numerics = Numerics::kHighest;  // Of the request; not known after Load.
  bool reads_numerics = false;             // Others would have been another request.
  std::string source;       // memory, disk, shared, compiled, joined: where it was found.
  std::string miss_reason;  // Why it had to be compiled; empty on a hit.
  double lookup_seconds = 0;
  double compile_seconds = 0;           // Spent in this call waiting for a compile.
  double recorded_compile_seconds = 0;  // What the compile cost when the artifact was made.
};

class Session {
 public:
  // Blobs of recent artifacts are kept up to this size, so that a request repeated in this process,
  // or one that shares kernels, transfers nothing.
  static constexpr std::uint64_t kMemoryBytes = std::uint64_t{256} << 20;

  // `manifest`: where what is asked for is recorded; empty: nowhere.
  Session(DaemonClientOptions daemon, std::string name_space, std::string manifest = "");

  DaemonClient& daemon() { return daemon_; }
  Recorder& recorder() { return recorder_; }
  const std::string& name_space() const { return name_space_; }

  // Everything of a CompileRequest but the epoch, which is the daemon's. Options become canonical.
  Result<Obtained> Compile(const Graph& graph, const Target& target, const CompileOptions& options,
                           const DaemonClient::OnProgress& on_progress);
  // From the key alone; NotFound when no tier has it. `wished`: what the caller would compile with,
  // for the record.
  Result<Obtained> Load(const Digest& request_key, Numerics wished);

  // Writes down what Compile would ask for, and asks for nothing.
  Status RecordRequest(const Graph& graph, const Target& target, const CompileOptions& options);

 private:
  Result<Obtained> Obtain(const Graph& graph, const Target& target, const CompileOptions& wanted,
                          const DaemonClient::OnProgress& on_progress);
  Status ReportRefused();
  void Record(const Graph& graph, const Target& target, const CompileOptions& wanted);
  void RecordLoaded(const Digest& request_key, Numerics wished, const wire::Bundle& found);
  std::shared_ptr<const ArtifactBundle> Recall(const Digest& request_key);
  void Remember(const Digest& request_key, std::shared_ptr<const ArtifactBundle> bundle);
  // What the daemon need not send again, held on to until the answer has been accepted.
  using Blobs = std::map<Digest, std::shared_ptr<const std::string>>;
  Blobs HeldBlobs();
  Status CheckSignature(std::string_view artifact);
  Result<std::shared_ptr<const ArtifactBundle>> Accept(const Digest& request_key,
                                                       wire::Bundle bundle, const Blobs& held);

  DaemonClient daemon_;
  const std::string name_space_;
  Recorder recorder_;

  struct Held {
    Digest request_key;
    std::shared_ptr<const ArtifactBundle> bundle;
    std::uint64_t bytes;
  };
  std::mutex mutex_;
  std::list<Held> recent_;  // Most recently used first.
  std::uint64_t held_bytes_ = 0;
};

}  // namespace stoker
