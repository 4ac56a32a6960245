// Caller: who sent a request, as far as logs, the queue and explanations name them.
#pragma once

#include <string>
#include <utility>

namespace stoker {

struct Caller {
  Caller(std::string id) : request_id(std::move(id)) {}  // NOLINT: implicit
  Caller(const char* id) : request_id(id) {}             // NOLINT: implicit
  Caller(std::string id, std::string its_job)
      : request_id(std::move(id)), job(std::move(its_job)) {}

  std::string request_id;
  std::string job;  // As the client names it (X-Stoker-Job); empty: it does not.
};

}  // namespace stoker
