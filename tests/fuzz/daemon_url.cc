// Where a daemon is: what parses prints as itself.
#include "client/core/settings/url.h"
#include "protocol/base/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {

std::vector<std::string> Seeds() {
  return {"unix:/run/stoker/stokerd.sock", "http://127.0.0.1:8471", "http://[::1]:1/",
          "http://stokerd.example:65535"};
}

void TryInput(std::string_view bytes) {
  const auto url = DaemonUrl::Parse(bytes);
  if (!url.ok()) return;
  const auto again = DaemonUrl::Parse(url->ToString());
  STOKER_CHECK(again.ok());
  STOKER_CHECK(again->ToString() == url->ToString());
}

}  // namespace stoker::fuzz
