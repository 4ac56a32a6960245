// stoker.h: status, client, graph and tools.
#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "client/core/c/c_handles.h"
#include "client/core/execution/job_device.h"
#include "client/core/file_listing.h"
#include "protocol/base/host/regular_file.h"
#include "protocol/base/namespace.h"

namespace stoker {
namespace {

namespace json = boost::json;

constexpr char kVersion[] = STOKER_VERSION;
constexpr std::size_t kMaxGraphTextBytes = std::size_t{256} << 20;

stoker_code CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return STOKER_INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return STOKER_NOT_FOUND;
    case ErrorCode::kUnimplemented:
      return STOKER_UNIMPLEMENTED;
    case ErrorCode::kResourceExhausted:
      return STOKER_RESOURCE_EXHAUSTED;
    case ErrorCode::kUnavailable:
      return STOKER_UNAVAILABLE;
    case ErrorCode::kDeadlineExceeded:
      return STOKER_DEADLINE_EXCEEDED;
    case ErrorCode::kDataLoss:
      return STOKER_DATA_LOSS;
    case ErrorCode::kFailedPrecondition:
      return STOKER_FAILED_PRECONDITION;
    case ErrorCode::kInternal:
      return STOKER_INTERNAL;
  }
  return STOKER_INTERNAL;
}

Result<wire::Report> ReportOfJson(const std::string& name_space, std::string_view text) {
  boost::system::error_code code;
  const json::value root = json::parse({text.data(), text.size()}, code);
  if (code || !root.is_object()) {
    return InvalidArgument("A report is a JSON object: " + code.message() + ".");
  }
  wire::Report report;
  report.ns = name_space;
  for (const auto& [key, group] : root.as_object()) {
    if (!group.is_object()) {
      return InvalidArgument("Report field '" + std::string(key) + "' is not an object.");
    }
    for (const auto& [name, value] : group.as_object()) {
      if (!value.is_number()) {
        return InvalidArgument("Report counter '" + std::string(name) + "' is not a number.");
      }
      if (key == "counters") {
        report.counters[std::string(name)] = value.to_number<double>();
      } else if (key == "fallback_ops") {
        boost::system::error_code inexact;
        const auto count = value.to_number<std::uint64_t>(inexact);
        if (inexact) {
          return InvalidArgument("Fallback count of '" + std::string(name) +
                                 "' is not a whole number.");
        }
        report.fallback_ops[std::string(name)] = count;
      } else {
        return InvalidArgument("Report field '" + std::string(key) +
                               "' is neither 'counters' nor 'fallback_ops'.");
      }
    }
  }
  return report;
}

std::string JsonOf(const wire::ListReply& reply) {
  json::array entries;
  for (const wire::ListEntry& entry : reply.entries) {
    entries.push_back({{"key", entry.key.ToHex()},
                       {"artifact", entry.artifact.ToHex()},
                       {"namespace", entry.ns},
                       {"kind", entry.kind},
                       {"label", entry.label},
                       {"size_bytes", entry.size_bytes},
                       {"created_unix_s", entry.created_unix_s},
                       {"last_used_unix_s", entry.last_used_unix_s},
                       {"compile_seconds", entry.compile_seconds},
                       {"hits", entry.hits},
                       {"target", entry.target},
                       {"writer", entry.writer}});
  }
  return json::serialize(entries);
}

std::string JsonOf(const wire::InspectReply& reply) {
  json::array sections;
  for (const wire::Section& section : reply.sections) {
    sections.push_back({{"name", section.name}, {"text", section.text}});
  }
  return json::serialize(sections);
}

std::string JsonOf(const wire::ExplainReply& reply) {
  json::array differences;
  for (const auto& difference : reply.differences) {
    differences.push_back({{"tag", difference.tag}, {"a", difference.a}, {"b", difference.b}});
  }
  return json::serialize(differences);
}

// Empty where it is not encrypted.
std::string DescribeTls(const DaemonClientOptions& daemon) {
  if (daemon.url.scheme != DaemonUrl::Scheme::kHttps) return "";
  const TlsTrust& tls = daemon.trust.tls;
  return "TLS 1.3; the daemon is known by " + tls.ToString() +
         (tls.certificate.empty() ? "" : "; it is shown the certificate in " + tls.certificate);
}

std::string DescribeSetup(stoker_client& client) {
  const ClientConfig& config = client.config;
  json::object setup = {
      {"url", config.daemon.url.ToString()},
      {"tls", DescribeTls(config.daemon)},
      {"private", config.daemon.private_daemon.has_value()},
      {"cache_dir", config.cache_dir},
      {"daemon_program",
       config.daemon.private_daemon ? config.daemon.private_daemon->program : std::string()},
      {"client_version", kVersion},
      {"reachable", false},
      {"error", ""},
      {"daemon_version", ""},
      {"compiler_epoch", ""},
      {"target_kinds", json::array()},
      {"prepared_dir", client.prepared->options().folder},
      {"prepared_bytes", client.prepared->BytesKept()},
      {"prepared_limit_bytes", client.prepared->options().max_bytes},
      {"prepared_kept", client.prepared->Takes(client.prepared->options().min_bytes)},
      {"processor", ""},
      {"target", ""},
      {"target_error", ""}};
  if (const auto processor = Target::Host(); processor.ok()) {
    setup["processor"] = processor->ToString();
  }
  if (const auto device = JobDevice::Named("cpu"); device.ok()) {
    setup["target"] = (*device)->device().target().ToString();
  } else {
    setup["target_error"] = device.error().message;
  }
  // A client that never starts a daemon, so that looking changes nothing.
  DaemonClientOptions passive = config.daemon;
  passive.private_daemon.reset();
  if (const auto hello = DaemonClient(passive).Hello(); hello.ok()) {
    setup["reachable"] = true;
    setup["daemon_version"] = hello->daemon_version;
    setup["compiler_epoch"] = hello->compiler_epoch;
    setup["target_kinds"] = json::value_from(hello->target_kinds);
  } else {
    setup["error"] = hello.error().message;
  }
  return json::serialize(setup);
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

stoker_status* ToStatus(const Error& error) {
  return new (std::nothrow) stoker_status{CodeOf(error.code), error.message};
}

char* CopyText(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace stoker

using namespace stoker;  // NOLINT: this file is the adapter between the two.

extern "C" {

uint32_t stoker_abi_version(void) { return STOKER_ABI_VERSION; }
const char* stoker_version(void) { return kVersion; }

stoker_code stoker_status_code(const stoker_status* status) { return status->code; }
const char* stoker_status_message(const stoker_status* status) { return status->message.c_str(); }
void stoker_status_free(stoker_status* status) { delete status; }
void stoker_text_free(char* text) { std::free(text); }

stoker_status* stoker_client_create(const stoker_client_options* options, stoker_client** client) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    ClientSettings settings;
    if (options != nullptr) {
      if (options->struct_size < sizeof(stoker_client_options)) {
        return InvalidArgument("stoker_client_options.struct_size is " +
                               std::to_string(options->struct_size) + "; at least " +
                               std::to_string(sizeof(stoker_client_options)) + " is expected.");
      }
      settings.url = TextOrEmpty(options->url);
      settings.name_space = TextOrEmpty(options->name_space);
      settings.cache_dir = TextOrEmpty(options->cache_dir);
      settings.stokerd = TextOrEmpty(options->stokerd);
      settings.connect_timeout_ms = options->connect_timeout_ms;
      settings.compile_timeout_ms = options->compile_timeout_ms;
    }
    STOKER_TRY(ClientConfig config, ResolveClientConfig(settings));
    *client = new stoker_client(std::move(config));
    return Ok();
  });
}

void stoker_client_free(stoker_client* client) { delete client; }

stoker_status* stoker_client_get(stoker_client* client, const char* path, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_TRY(const std::string body, client->session.daemon().Get(path));
    *text = CopyText(body);
    return Ok();
  });
}

stoker_status* stoker_client_report(stoker_client* client, const char* report_json) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(report_json, "json"));
    STOKER_TRY(const wire::Report report, ReportOfJson(client->session.name_space(), report_json));
    return client->session.daemon().Report(report);
  });
}

stoker_status* stoker_client_list(stoker_client* client, const char* name_space, const char* kind,
                                  uint32_t limit, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    wire::ListRequest request{TextOrEmpty(name_space), TextOrEmpty(kind), limit};
    STOKER_TRY(const wire::ListReply reply, client->session.daemon().List(request));
    *text = CopyText(JsonOf(reply));
    return Ok();
  });
}

stoker_status* stoker_client_inspect(stoker_client* client, const char* key_prefix,
                                     const char* sections, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    wire::InspectRequest request;
    request.key_prefix = TextOrEmpty(key_prefix);
    request.sections = SplitAtCommas(TextOrEmpty(sections));
    STOKER_TRY(const wire::InspectReply reply, client->session.daemon().Inspect(request));
    *text = CopyText(JsonOf(reply));
    return Ok();
  });
}

stoker_status* stoker_client_explain(stoker_client* client, const char* key_a, const char* key_b,
                                     char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    wire::ExplainRequest request;
    request.key_a = TextOrEmpty(key_a);
    request.key_b = TextOrEmpty(key_b);
    STOKER_TRY(const wire::ExplainReply reply, client->session.daemon().Explain(request));
    *text = CopyText(JsonOf(reply));
    return Ok();
  });
}

stoker_status* stoker_client_stop(stoker_client* client) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    return client->session.daemon().Stop();
  });
}

stoker_status* stoker_client_probe(stoker_client* client, const char* path, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(text, "text"));
    STOKER_TRY(const std::string body, client->session.daemon().Probe(path));
    *text = CopyText(body);
    return Ok();
  });
}

stoker_status* stoker_client_flush(stoker_client* client, int64_t timeout_ms) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    client->prepared->Flush(std::chrono::milliseconds(timeout_ms));
    return Ok();
  });
}

stoker_status* stoker_client_compiler_epoch(stoker_client* client, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_TRY(const wire::Hello hello, client->session.daemon().Hello());
    *text = CopyText(hello.compiler_epoch);
    return Ok();
  });
}

stoker_status* stoker_check_namespace(const char* name_space) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(name_space, "name_space"));
    return CheckNamespace(name_space);
  });
}

stoker_status* stoker_client_describe(stoker_client* client, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    *text = CopyText(DescribeSetup(*client));
    return Ok();
  });
}

stoker_status* stoker_list_files(const char* folder, const char* suffix, const char* without,
                                 char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(folder, "folder"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(text, "text"));
    *text = CopyText(ListFiles(folder, TextOrEmpty(suffix), SplitAtCommas(TextOrEmpty(without))));
    return Ok();
  });
}

stoker_status* stoker_graph_parse(const char* text, size_t size, stoker_graph** graph) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(text, "text"));
    STOKER_TRY(Graph parsed, ParseGraph({text, size}));
    *graph = new stoker_graph{std::move(parsed)};
    return Ok();
  });
}

stoker_status* stoker_graph_read(const char* path, stoker_graph** graph) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(graph, "graph"));
    STOKER_TRY(const std::string text, ReadRegularFile("Graph", path, kMaxGraphTextBytes));
    auto parsed = ParseGraph(text);
    if (!parsed.ok()) return parsed.error().WithContext(path);
    *graph = new stoker_graph{*std::move(parsed)};
    return Ok();
  });
}

stoker_status* stoker_graph_print(const stoker_graph* graph, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(graph, "graph"));
    *text = CopyText(PrintGraph(graph->graph));
    return Ok();
  });
}

void stoker_graph_digest(const stoker_graph* graph, char hex[65]) {
  const std::string text = graph->graph.digest().ToHex();
  std::memcpy(hex, text.c_str(), 65);
}

void stoker_graph_free(stoker_graph* graph) { delete graph; }

}  // extern "C"
