// stoker.h: work on the daemon's cache as a whole, and pins.
#include <boost/json.hpp>
#include <optional>
#include <string>

#include "client/core/c/c_handles.h"
#include "protocol/wire/upkeep_messages.h"

namespace stoker {
namespace {

namespace json = boost::json;

// The fields of a request, each of which is asked for once: what is left nobody knows.
class RequestFields {
 public:
  static Result<RequestFields> Parse(const std::string& text) {
    if (text.empty()) return RequestFields({});
    boost::system::error_code code;
    const json::value root = json::parse(text, code);
    if (code || !root.is_object()) return InvalidArgument("A request is a JSON object.");
    return RequestFields(root.as_object());
  }

  Status Take(std::string_view name, std::string* out) {
    return TakeAs(name, "a string", [&](const json::value& value) {
      if (!value.is_string()) return false;
      *out = std::string(value.as_string());
      return true;
    });
  }
  Status Take(std::string_view name, double* out) {
    return TakeAs(name, "a number", [&](const json::value& value) {
      if (!value.is_number()) return false;
      *out = value.to_number<double>();
      return true;
    });
  }
  Status Take(std::string_view name, std::optional<std::uint64_t>* out) {
    return TakeAs(name, "a whole number that is not negative", [&](const json::value& value) {
      boost::system::error_code inexact;
      const auto number = value.to_number<std::uint64_t>(inexact);
      if (!inexact) *out = number;
      return !inexact;
    });
  }
  Status Take(std::string_view name, bool* out) {
    return TakeAs(name, "true or false", [&](const json::value& value) {
      if (!value.is_bool()) return false;
      *out = value.as_bool();
      return true;
    });
  }
  Status ExpectEnd() const {
    if (fields_.empty()) return Ok();
    return InvalidArgument("Request field '" + std::string(fields_.begin()->key()) +
                           "' is not known.");
  }

 private:
  explicit RequestFields(json::object fields) : fields_(std::move(fields)) {}

  template <typename TryTake>
  Status TakeAs(std::string_view name, std::string_view expected, const TryTake& take) {
    const auto field = fields_.find({name.data(), name.size()});
    if (field == fields_.end()) return Ok();
    if (!take(field->value())) {
      return InvalidArgument("Request field '" + std::string(name) + "' is not " +
                             std::string(expected) + ".");
    }
    fields_.erase(field);
    return Ok();
  }

  json::object fields_;
};

// The body of the work's request.
Result<std::string> BodyOf(std::string_view work, const std::string& text) {
  STOKER_TRY(RequestFields fields, RequestFields::Parse(text));
  std::string body;
  if (work == "gc") {
    wire::GcRequest gc;
    STOKER_RETURN_IF_ERROR(fields.Take("limit_bytes", &gc.limit_bytes));
    STOKER_RETURN_IF_ERROR(fields.Take("unnamed_seconds", &gc.unnamed_seconds));
    body = wire::EncodeGcRequest(gc);
  } else if (work == "purge") {
    wire::PurgeRequest purge;
    STOKER_RETURN_IF_ERROR(fields.Take("namespace", &purge.ns));
    STOKER_RETURN_IF_ERROR(fields.Take("compiler_epoch", &purge.compiler_epoch));
    STOKER_RETURN_IF_ERROR(fields.Take("unused_seconds", &purge.unused_seconds));
    STOKER_RETURN_IF_ERROR(fields.Take("dry_run", &purge.dry_run));
    body = wire::EncodePurgeRequest(purge);
  } else if (work != "verify") {
    return InvalidArgument("Work '" + std::string(work) + "' is none of gc, purge, verify.");
  }
  STOKER_RETURN_IF_ERROR(fields.ExpectEnd());
  return body;
}

json::object JsonOf(const wire::Pin& pin) {
  return {
      {"namespace", pin.ns}, {"key", pin.key.ToHex()},       {"kind", pin.kind},
      {"label", pin.label},  {"size_bytes", pin.size_bytes}, {"pinned_unix_s", pin.pinned_unix_s}};
}

}  // namespace
}  // namespace stoker

using namespace stoker;  // NOLINT: this file is the adapter between the two.

extern "C" {

stoker_status* stoker_client_upkeep(stoker_client* client, const char* work, const char* request,
                                    stoker_progress_fn progress, void* progress_context,
                                    char** report_json) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(work, "work"));
    STOKER_TRY(const std::string body, BodyOf(work, TextOrEmpty(request)));
    const DaemonClient::OnProgress on_progress = [&](const wire::Progress& news) {
      if (progress == nullptr) return;
      progress(progress_context, news.stage.c_str(), news.done, news.total, news.detail.c_str(),
               news.elapsed_seconds);
    };
    STOKER_TRY(const wire::UpkeepReport report,
               client->session.daemon().Upkeep(work, body, on_progress));
    json::object counts;
    for (const auto& [name, value] : report.counts) counts[name] = value;
    *report_json = CopyText(json::serialize(counts));
    return Ok();
  });
}

stoker_status* stoker_client_pin(stoker_client* client, const char* name_space,
                                 const char* key_prefix, int32_t pinned, char** pin_json) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    wire::PinRequest request;
    request.ns = TextOrEmpty(name_space);
    if (request.ns.empty()) request.ns = client->session.name_space();
    request.key_prefix = TextOrEmpty(key_prefix);
    STOKER_TRY(const wire::Pin pin, client->session.daemon().Pin(request, pinned != 0));
    *pin_json = CopyText(json::serialize(JsonOf(pin)));
    return Ok();
  });
}

stoker_status* stoker_client_pins(stoker_client* client, const char* name_space, char** pins_json) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_TRY(const wire::PinList list, client->session.daemon().Pins({TextOrEmpty(name_space)}));
    json::array pins;
    for (const wire::Pin& pin : list.pins) pins.push_back(JsonOf(pin));
    *pins_json = CopyText(json::serialize(json::object{
        {"pins", std::move(pins)}, {"bytes", list.bytes}, {"limit_bytes", list.limit_bytes}}));
    return Ok();
  });
}

}  // extern "C"
