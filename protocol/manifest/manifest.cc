#include "protocol/manifest/manifest.h"

#include "protocol/base/host/regular_file.h"
#include "protocol/graph/graph.h"
#include "protocol/key/compile_request.h"

namespace stoker {
namespace {

Digest KeyAsItStands(const Digest& graph_digest, const wire::CompileCall& call) {
  return KeyOf(graph_digest, call.target, call.options, "").digest;
}

}  // namespace

std::string RequestContentOf(wire::CompileCall call) {
  call.graph_digest = Sha256Of(call.graph);
  call.compiler_epoch.clear();
  call.have_kernels.clear();
  call.request_key = KeyAsItStands(call.graph_digest, call);
  return wire::EncodeCompileCall(call);
}

std::string CaptureContentOf(const wire::CapturePut& put) { return wire::EncodeCapturePut(put); }

Result<Manifest> Manifest::Decode(std::string bytes) {
  Manifest manifest(std::move(bytes));
  STOKER_TRY(const RecordScan scan, ScanRecords(kManifestFormat, manifest.bytes_));
  manifest.damaged_bytes_ = scan.damaged_bytes;
  manifest.cut_bytes_ = scan.cut_bytes;
  for (const Record& record : scan.records) {
    const auto offset = static_cast<std::size_t>(record.payload.data() - manifest.bytes_.data());
    const Place place{record.kind, record.name, offset, record.payload.size()};
    if (record.kind == kRequestRecord) manifest.requests_.push_back(place);
    if (record.kind == kCaptureRecord) manifest.captures_.push_back(place);
  }
  return manifest;
}

Result<Manifest> Manifest::Read(const std::string& path) {
  STOKER_TRY(std::string bytes, ReadRegularFile("Manifest", path, kMaxManifestBytes));
  auto manifest = Decode(std::move(bytes));
  if (!manifest.ok()) return manifest.error().WithContext(path);
  return manifest;
}

Result<std::string> Manifest::ContentOf(const Place& place) const {
  return UnpackRecord(
      {place.kind, place.name, std::string_view(bytes_).substr(place.offset, place.size)});
}

Result<wire::CompileCall> Manifest::Request(std::size_t index) const {
  STOKER_TRY(const std::string content, ContentOf(requests_.at(index)));
  STOKER_TRY(wire::CompileCall call, wire::DecodeCompileCall(content));
  STOKER_TRY(const Graph graph, DecodeGraph(call.graph));
  if (graph.digest() != call.graph_digest) {
    return DataLoss("A request holds graph " + graph.digest().ToHex() + " and names " +
                    call.graph_digest.ToHex() + ".");
  }
  if (KeyAsItStands(call.graph_digest, call) != call.request_key) {
    return DataLoss("A request has key " + call.request_key.ToHex() +
                    ", which is not that of its fields.");
  }
  return call;
}

Result<wire::CapturePut> Manifest::Capture(std::size_t index) const {
  STOKER_TRY(const std::string content, ContentOf(captures_.at(index)));
  return wire::DecodeCapturePut(content);
}

}  // namespace stoker
