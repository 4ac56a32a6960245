// The messages of /v1/captures/..., as plain structs; messages.h says what encoding and decoding
// do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/wire/messages.h"

namespace stoker::wire {

// POST /v1/captures/find -> 200 CaptureList or 404 Miss.
struct CaptureQuery {
  std::string ns{kDefaultNamespace};
  Digest capture_key;
  std::vector<KeyField> fields;    // Of the capture key, so that a miss can be explained.
  std::vector<PublicKey> writers;  // Whose captures are wanted; no others are given.
};

// At most kMaxCapturesPerKey: those of each writer in their order in the query, most recent first.
struct CaptureList {
  std::vector<Blob> captures;  // Envelopes (protocol/artifact/capture_envelope.h).
};

// POST /v1/captures/put -> 204. Who wrote it stands in the envelope.
struct CapturePut {
  CaptureQuery key;
  std::string label;
  std::string capture;
};

// POST /v1/captures/drop -> 204: what a client refused. One that is whole is dropped for its writer
// alone.
struct CaptureDrop {
  std::string ns{kDefaultNamespace};
  Digest capture_key;
  Digest capture;
  std::vector<PublicKey> writers;  // Who asks comes first; then whose it may be.
  Signature signature;             // Of CaptureDropText, by who asks.
};

// POST /v1/captures/note -> 204: how a start went, for statistics and `stoker explain`.
struct CaptureNote {
  std::string ns{kDefaultNamespace};
  std::string entry;    // Of the capture key.
  std::string outcome;  // hit, miss, recorded, local, failed, damaged, audited, differing
  std::string reason;   // One of few words.
  std::string detail;   // For people.
};

std::string EncodeCaptureQuery(const CaptureQuery& message);
std::string EncodeCaptureList(const CaptureList& message);
std::string EncodeCapturePut(const CapturePut& message);
std::string EncodeCaptureDrop(const CaptureDrop& message);
std::string EncodeCaptureNote(const CaptureNote& message);

Result<CaptureQuery> DecodeCaptureQuery(std::string_view bytes);
Result<CaptureList> DecodeCaptureList(std::string_view bytes);
Result<CapturePut> DecodeCapturePut(std::string_view bytes);
Result<CaptureDrop> DecodeCaptureDrop(std::string_view bytes);
Result<CaptureNote> DecodeCaptureNote(std::string_view bytes);

}  // namespace stoker::wire
