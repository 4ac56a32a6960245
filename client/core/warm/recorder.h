// Recorder: writes down what a job asks for, in a manifest that other processes of the job write to
// at the same time. A job must not notice it: it never fails, and what it cannot write is one line
// on standard error.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "protocol/base/digest.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/base/result.h"
#include "protocol/key/compile_options.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/messages.h"

namespace stoker {

class Recorder {
 public:
  // `path`: of the manifest, which the first record makes; empty: nothing is recorded.
  explicit Recorder(std::string path) : path_(std::move(path)) {}

  bool is_on() const { return !path_.empty(); }
  // Was this said to be recorded before, by this process? Then nobody need ask for it again.
  bool HasRequest(const Digest& request_key, Numerics wished);
  // Whether all that was given so far is in the manifest: for who does nothing but write it.
  Status status();

  // A whole request with its graph, which its sender had under `request_key`; `call.options` are
  // those that it wished.
  void Request(const Digest& request_key, wire::CompileCall call);
  void Capture(const wire::CapturePut& put);

 private:
  void Append(std::uint32_t kind, std::string_view content);
  Status TryToAppend(std::uint32_t kind, std::string_view content);
  Status Open();
  // Learns the names of what was appended since the last time, by whomever.
  void CatchUp();
  // Whether a record may begin there, or the file ends.
  bool BeginsRecord(std::uint64_t offset) const;

  const std::string path_;
  std::mutex mutex_;              // Guards what follows.
  std::optional<Error> failure_;  // Of a write; none is tried again.
  std::optional<FileDescriptor> file_;
  std::uint64_t looked_at_ = 0;                     // Bytes of the file.
  std::unordered_set<Digest, DigestHash> written_;  // Names of records.
  std::unordered_set<Digest, DigestHash> said_;     // Requests of this process.
};

}  // namespace stoker
