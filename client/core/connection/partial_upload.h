// PartialUpload: what a daemon has of a request whose connection broke, for another connection to
// send the rest (draft-ietf-httpbis-resumable-upload; WIRE.md).
#pragma once

#include <cstdint>
#include <string>

namespace stoker {

struct PartialUpload {
  std::string location = {};  // Where the daemon keeps it; empty: it has not said.
  std::uint64_t offset = 0;   // How much of the body it has, as it said last.
};

}  // namespace stoker
