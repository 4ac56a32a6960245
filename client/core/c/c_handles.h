// What the opaque handles of stoker.h are, and the adapter that keeps exceptions and null pointers
// from crossing the C boundary.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "client/core/client_config.h"
#include "client/core/daemon/prepared_report.h"
#include "client/core/session.h"
#include "client/include/stoker/stoker.h"
#include "protocol/graph/graph.h"

struct stoker_status {
  stoker_code code;
  std::string message;
};

struct stoker_client {
  stoker::ClientConfig config;
  stoker::Session session;
  stoker::CaptureWriters writers;
  // Also of the executables, which may outlive the client.
  std::shared_ptr<stoker::cpu::PreparedStore> prepared;

  explicit stoker_client(stoker::ClientConfig resolved)
      : config(std::move(resolved)),
        session(config.daemon, config.name_space, config.manifest),
        writers(config.writers),
        prepared(std::make_shared<stoker::cpu::PreparedStore>(
            config.prepared, stoker::ReportPrepared(config.daemon, config.name_space))) {}
};

struct stoker_graph {
  stoker::Graph graph;
};

namespace stoker {

stoker_status* ToStatus(const Error& error);
inline stoker_status* ToStatus(const Status& status) {
  return status.ok() ? nullptr : ToStatus(status.error());
}

// malloc'ed copy for a caller who frees it with stoker_text_free.
char* CopyText(const std::string& text);

// Runs the body of an extern "C" function. Nothing is thrown past it.
template <typename Body>
stoker_status* Guarded(const Body& body) noexcept {
  try {
    return ToStatus(body());
  } catch (const std::bad_alloc&) {
    return ToStatus(ResourceExhausted("Out of memory."));
  } catch (const std::exception& e) {
    return ToStatus(Internal(std::string("Unexpected exception: ") + e.what()));
  } catch (...) {
    return ToStatus(Internal("Unexpected exception."));
  }
}

inline Status RequireNonNull(const void* pointer, const char* name) {
  if (pointer != nullptr) return Ok();
  return InvalidArgument(std::string("Argument '") + name + "' is NULL.");
}

inline Result<Numerics> NumericsNamed(const std::string& name) {
  if (const auto numerics = ParseNumerics(name)) return *numerics;
  return InvalidArgument("Numerics '" + name + "' is none of highest, high, medium.");
}

inline std::string TextOrEmpty(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace stoker
