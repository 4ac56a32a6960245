// stoker.h: who is trusted with code.
#include <boost/json.hpp>

#include "client/core/c/c_handles.h"

namespace stoker {
namespace {

namespace json = boost::json;

json::array TextsOf(std::span<const PublicKey> keys) {
  json::array texts;
  for (const PublicKey& key : keys) texts.emplace_back(key.ToString());
  return texts;
}

// What the daemon announces, and whether it is believed. Never starts one.
json::object DescribeDaemon(const DaemonClientOptions& options) {
  json::object daemon = {{"url", options.url.ToString()},
                         {"signing_keys", json::array()},
                         {"is_authenticated", false},
                         {"believed", json::array()},
                         {"error", ""}};
  DaemonClientOptions passive = options;
  passive.private_daemon.reset();
  const auto greeting = DaemonClient(passive).Greet();
  if (!greeting.ok()) {
    daemon["error"] = greeting.error().message;
    return daemon;
  }
  daemon["signing_keys"] = TextsOf(greeting->hello.signing_keys);
  daemon["is_authenticated"] = greeting->is_authenticated;
  const auto believed = BelievedSigners(options.trust, greeting->hello.signing_keys,
                                        greeting->is_authenticated, options.url.ToString());
  if (believed.ok()) {
    daemon["believed"] = TextsOf(*believed);
  } else {
    daemon["error"] = believed.error().message;
  }
  return daemon;
}

std::string DescribeKeys(stoker_client& client) {
  json::object writer = {{"key", ""}, {"file", ""}, {"error", ""}};
  if (const auto own = client.writers.OwnKey(); own.ok()) {
    writer["key"] = own->public_key().ToString();
    writer["file"] = client.writers.OwnFile();
  } else {
    writer["error"] = own.error().message;
  }
  return json::serialize(
      json::object{{"daemon", DescribeDaemon(client.config.daemon)},
                   {"pinned_signers", TextsOf(client.config.daemon.trust.signers)},
                   {"writer", std::move(writer)},
                   {"trusted_writers", TextsOf(client.config.writers.trusted)}});
}

}  // namespace
}  // namespace stoker

using namespace stoker;  // NOLINT: this file is the adapter between the two.

extern "C" {

stoker_status* stoker_client_keys(stoker_client* client, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(text, "text"));
    *text = CopyText(DescribeKeys(*client));
    return Ok();
  });
}

}  // extern "C"
