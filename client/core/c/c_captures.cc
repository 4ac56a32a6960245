// stoker.h: captures.
#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

#include "client/core/c/c_handles.h"
#include "protocol/artifact/capture_envelope.h"

struct stoker_captures {
  struct Capture {
    std::string envelope;
    stoker::OpenedCapture opened;  // Into the envelope.
    std::string digest;            // Of the envelope, in hexadecimal.
    std::string writer;
  };
  stoker::Digest key;
  std::vector<Capture> captures;
  std::string miss_reason;
  std::size_t damaged = 0;
  std::size_t untrusted = 0;
};

namespace stoker {
namespace {

namespace json = boost::json;

Result<std::vector<KeyField>> FieldsOfJson(const char* text) {
  std::vector<KeyField> fields;
  if (text == nullptr) return fields;
  boost::system::error_code code;
  const json::value root = json::parse(text, code);
  if (code || !root.is_array()) {
    return InvalidArgument("Argument 'fields' is no JSON array: " + code.message() + ".");
  }
  for (const json::value& pair : root.as_array()) {
    if (!pair.is_array() || pair.as_array().size() != 2 || !pair.at(0).is_string() ||
        !pair.at(1).is_string()) {
      return InvalidArgument("Argument 'fields' has an element that is no [tag, text].");
    }
    std::string value(pair.at(1).as_string());
    const Digest digest = Sha256Of(value);
    fields.push_back({std::string(pair.at(0).as_string()), std::move(value), digest});
  }
  return fields;
}

Result<wire::CaptureQuery> QueryOf(stoker_client& client, const char* key, const char* fields) {
  wire::CaptureQuery query;
  query.ns = client.session.name_space();
  STOKER_RETURN_IF_ERROR(RequireNonNull(key, "key"));
  STOKER_TRY(query.capture_key, Digest::FromHex(key));
  STOKER_TRY(query.fields, FieldsOfJson(fields));
  return query;
}

// Asks for a capture to be dropped, in the name of the own writer, if there is one. Whether the
// daemon does so is its own to know: a damaged one for anybody, a whole one for its writer.
Status Drop(stoker_client& client, const wire::CaptureQuery& query, const Digest& capture) {
  wire::CaptureDrop drop{query.ns, query.capture_key, capture, client.writers.Trusted(), {}};
  if (const auto own = client.writers.OwnKey(); own.ok()) {
    drop.signature = own->Sign(CaptureDropText(query.ns, query.capture_key, capture));
  }
  return client.session.daemon().DropCapture(drop);
}

// The captures whose envelopes open, and whose writers were asked for. Their signatures are looked
// at when they are.
void Open(stoker_client& client, const wire::CaptureQuery& query, wire::CaptureList list,
          stoker_captures* opened) {
  for (wire::Blob& blob : list.captures) {
    stoker_captures::Capture capture{std::move(blob.data), {}, blob.digest.ToHex(), ""};
    const auto content = OpenCapture(capture.envelope);
    if (!content.ok() && content.error().code != ErrorCode::kUnimplemented) {
      ++opened->damaged;
      // Whether or not it was damaged on its way: it is asked for again next time.
      (void)Drop(client, query, blob.digest);
      continue;
    }
    const bool is_trusted = content.ok() && std::find(query.writers.begin(), query.writers.end(),
                                                      content->writer) != query.writers.end();
    if (!is_trusted) {
      ++opened->untrusted;
      continue;
    }
    capture.writer = content->writer.ToString();
    opened->captures.push_back(std::move(capture));
  }
  // Only now do the envelopes stay where they are.
  for (stoker_captures::Capture& capture : opened->captures) {
    capture.opened = OpenCapture(capture.envelope).value();
  }
}

// With the writers whose captures are run.
Result<wire::CaptureQuery> TrustingQueryOf(stoker_client& client, const char* key,
                                           const char* fields) {
  STOKER_TRY(wire::CaptureQuery query, QueryOf(client, key, fields));
  query.writers = client.writers.Trusted();
  return query;
}

}  // namespace
}  // namespace stoker

using namespace stoker;  // NOLINT: this file is the adapter between the two.

extern "C" {

stoker_status* stoker_client_find_captures(stoker_client* client, const char* key,
                                           const char* fields, stoker_captures** captures) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(captures, "captures"));
    STOKER_TRY(const wire::CaptureQuery query, TrustingQueryOf(*client, key, fields));
    auto opened = std::make_unique<stoker_captures>();
    opened->key = query.capture_key;
    if (query.writers.empty()) {
      opened->miss_reason = client->writers.OwnKey().error().message;
      *captures = opened.release();
      return Ok();
    }
    STOKER_TRY(auto answer, client->session.daemon().FindCaptures(query));
    if (auto* list = std::get_if<wire::CaptureList>(&answer)) {
      Open(*client, query, std::move(*list), opened.get());
    } else {
      opened->miss_reason = std::get<wire::Miss>(answer).reason;
      opened->untrusted = std::get<wire::Miss>(answer).untrusted_writers;
    }
    *captures = opened.release();
    return Ok();
  });
}

size_t stoker_captures_count(const stoker_captures* captures) { return captures->captures.size(); }

const char* stoker_captures_data(const stoker_captures* captures, size_t index, size_t* size) {
  if (index >= captures->captures.size()) return nullptr;
  const OpenedCapture& capture = captures->captures[index].opened;
  if (!IsSignedFor(captures->key, capture)) return nullptr;
  *size = capture.content.size();
  return capture.content.data();
}

const char* stoker_captures_digest(const stoker_captures* captures, size_t index) {
  return index < captures->captures.size() ? captures->captures[index].digest.c_str() : nullptr;
}

const char* stoker_captures_writer(const stoker_captures* captures, size_t index) {
  return index < captures->captures.size() ? captures->captures[index].writer.c_str() : nullptr;
}

const char* stoker_captures_miss_reason(const stoker_captures* captures) {
  return captures->miss_reason.c_str();
}

size_t stoker_captures_damaged(const stoker_captures* captures) { return captures->damaged; }

size_t stoker_captures_untrusted(const stoker_captures* captures) { return captures->untrusted; }

void stoker_captures_free(stoker_captures* captures) { delete captures; }

stoker_status* stoker_client_put_capture(stoker_client* client, const char* key, const char* fields,
                                         const char* label, const char* data, size_t size) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(data, "data"));
    wire::CapturePut put;
    STOKER_TRY(put.key, QueryOf(*client, key, fields));
    put.label = TextOrEmpty(label);
    STOKER_TRY(const SigningKey writer, client->writers.OwnKey());
    put.capture = SealCapture(put.key.capture_key, {data, size}, writer);
    client->session.recorder().Capture(put);
    return client->session.daemon().PutCapture(put);
  });
}

stoker_status* stoker_client_record_capture(stoker_client* client, const char* key,
                                            const char* fields, const char* label,
                                            const stoker_captures* captures, size_t index) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(captures, "captures"));
    if (!client->session.recorder().is_on()) return Ok();
    if (index >= captures->captures.size()) {
      return InvalidArgument("Argument 'index' is " + std::to_string(index) + " of " +
                             std::to_string(captures->captures.size()) + " captures.");
    }
    wire::CapturePut put;
    STOKER_TRY(put.key, QueryOf(*client, key, fields));
    put.label = TextOrEmpty(label);
    put.capture = captures->captures[index].envelope;
    client->session.recorder().Capture(put);
    return Ok();
  });
}

stoker_status* stoker_client_drop_capture(stoker_client* client, const char* key,
                                          const char* digest) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(digest, "digest"));
    STOKER_TRY(const wire::CaptureQuery query, QueryOf(*client, key, nullptr));
    STOKER_TRY(const Digest capture, Digest::FromHex(digest));
    return Drop(*client, query, capture);
  });
}

stoker_status* stoker_client_note_capture(stoker_client* client, const char* entry,
                                          const char* outcome, const char* reason,
                                          const char* detail) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    return client->session.daemon().NoteCapture({client->session.name_space(), TextOrEmpty(entry),
                                                 TextOrEmpty(outcome), TextOrEmpty(reason),
                                                 TextOrEmpty(detail)});
  });
}

}  // extern "C"
