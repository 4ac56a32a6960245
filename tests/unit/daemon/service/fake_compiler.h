// A compiler whose behaviour is written in the request: the graph's only input is f32[n], where
// n / kVariants is the behaviour and n % kVariants tells requests apart. Its artifacts have two
// kernels: one of all variants, one of its own.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/graph/graph.h"
#include "protocol/wire/messages.h"

namespace stoker {

enum class Behaviour {
  kGood,
  kError,      // Unimplemented.
  kThrow,      // An exception.
  kCrash,      // Always.
  kCrashOnce,  // The first time.
  kExit,       // Status 3.
  kHang,
  kNonsense,     // A frame that is no message.
  kMemory,       // Allocates for ever.
  kWait,         // Until ReleaseWaiting.
  kForeign,      // An artifact of another request.
  kIncomplete,   // An artifact without its kernels.
  kManyReports,  // Much progress.
  kManyQueries,  // Asks for kernels for ever.
  kSmuggles,     // Delivers a constant that its artifact does not name.
};

inline constexpr std::int64_t kVariants = 1000;

// A worker's limit where memory is used up: a small part of any machine's.
inline constexpr std::uint64_t kBombLimitMib = 128;

// The folder through which tests and workers meet; set in the environment of both.
inline constexpr char kFolderVariable[] = "STOKER_FAKE_COMPILER_FOLDER";

Graph FakeGraph(Behaviour behaviour, int variant = 0);
// A whole call for it, with its key.
wire::CompileCall FakeCall(Behaviour behaviour, int variant = 0);
// How often the request was compiled or begun, by all workers.
int CompilesOf(Behaviour behaviour, int variant = 0);
void ReleaseWaiting();

}  // namespace stoker
