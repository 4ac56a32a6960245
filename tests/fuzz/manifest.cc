// Manifests, and the seals of bundles. An input is a file whose records are sealed anew: damage
// that a checksum shows never gets further. Whatever the bytes are, what is whole is found, and
// each record is decoded or refused.
#include "protocol/manifest/manifest.h"

#include "protocol/base/bytes.h"
#include "protocol/base/check.h"
#include "protocol/graph/graph.h"
#include "protocol/manifest/bundle.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

std::string RecordOf(std::uint32_t kind, const std::string& content) {
  return *EncodeRecord(kManifestFormat, kind, Sha256Of(content), content);
}

void ReadAll(std::string bytes) {
  const std::size_t size = bytes.size();
  const auto manifest = Manifest::Decode(std::move(bytes));
  if (!manifest.ok()) return;
  STOKER_CHECK(manifest->damaged_bytes() <= size);
  for (std::size_t i = 0; i < manifest->requests(); ++i) {
    const auto request = manifest->Request(i);
    if (request.ok()) STOKER_CHECK(RequestContentOf(*request) == RequestContentOf(*request));
  }
  for (std::size_t i = 0; i < manifest->captures(); ++i) (void)manifest->Capture(i);
}

// The first record with a checksum that fits what it became.
std::string Sealed(std::string_view bytes) {
  constexpr std::size_t kSigned = kRecordHeaderBytes - Digest::kSize;
  const auto header = DecodeRecordHeader(kManifestFormat, bytes);
  if (!header.ok() || header->size > bytes.size() - kRecordHeaderBytes) return std::string(bytes);
  Sha256 hash;
  hash.Update(bytes.substr(0, kSigned));
  hash.Update(bytes.substr(kRecordHeaderBytes, header->size));
  std::string sealed(bytes);
  sealed.replace(kSigned, Digest::kSize, hash.Finish().AsBytes());
  return sealed;
}

}  // namespace

std::vector<std::string> Seeds() {
  const Graph graph =
      *ParseGraph("graph @g(%0: f32[2]) {\n  %1 = negate(%0) : f32[2]\n  return %1\n}\n");
  wire::CompileCall call;
  call.graph = EncodeGraph(graph);
  call.target = *Target::Parse("cpu/x86-64-v3");
  wire::CapturePut put;
  put.key.capture_key = Sha256Of("capture");
  put.capture = "envelope";
  const std::string request = RecordOf(kRequestRecord, RequestContentOf(call));
  const std::string capture = RecordOf(kCaptureRecord, CaptureContentOf(put));
  return {request, capture, request + capture, capture.substr(0, 40) + request,
          EncodeSeal({3, Sha256Of("names")})};
}

void TryInput(std::string_view bytes) {
  ReadAll(std::string(bytes));
  ReadAll(Sealed(bytes));
  if (const auto seal = DecodeSeal(bytes); seal.ok()) STOKER_CHECK(EncodeSeal(*seal) == bytes);
}

}  // namespace stoker::fuzz
