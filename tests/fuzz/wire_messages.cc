// The decoders of all wire messages. The first byte of an input chooses the message, the rest is
// its encoding. What decodes encodes to something that decodes to the same again.
#include <iterator>

#include "protocol/base/check.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/entry_messages.h"
#include "protocol/wire/messages.h"
#include "protocol/wire/upkeep_messages.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

template <auto Decode, auto Encode>
void ExpectEncodingIsFixedPoint(std::string_view bytes) {
  const auto message = Decode(bytes);
  if (!message.ok()) return;
  const std::string encoded = Encode(*message);
  const auto again = Decode(encoded);
  STOKER_CHECK(again.ok());
  STOKER_CHECK(Encode(*again) == encoded);
}

using Try = void (*)(std::string_view);
constexpr Try kMessages[] = {
    ExpectEncodingIsFixedPoint<wire::DecodeHello, wire::EncodeHello>,
    ExpectEncodingIsFixedPoint<wire::DecodeErrorReply, wire::EncodeErrorReply>,
    ExpectEncodingIsFixedPoint<wire::DecodeLookupRequest, wire::EncodeLookupRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodeMiss, wire::EncodeMiss>,
    ExpectEncodingIsFixedPoint<wire::DecodeBundle, wire::EncodeBundle>,
    ExpectEncodingIsFixedPoint<wire::DecodeCompileCall, wire::EncodeCompileCall>,
    ExpectEncodingIsFixedPoint<wire::DecodeCompileEvent, wire::EncodeCompileEvent>,
    ExpectEncodingIsFixedPoint<wire::DecodeReport, wire::EncodeReport>,
    ExpectEncodingIsFixedPoint<wire::DecodeListRequest, wire::EncodeListRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodeListReply, wire::EncodeListReply>,
    ExpectEncodingIsFixedPoint<wire::DecodeInspectRequest, wire::EncodeInspectRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodeInspectReply, wire::EncodeInspectReply>,
    ExpectEncodingIsFixedPoint<wire::DecodeExplainRequest, wire::EncodeExplainRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodeExplainReply, wire::EncodeExplainReply>,
    ExpectEncodingIsFixedPoint<wire::DecodeWorkerRequest, wire::EncodeWorkerRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodeWorkerEvent, wire::EncodeWorkerEvent>,
    ExpectEncodingIsFixedPoint<wire::DecodeWorkerEvent, wire::EncodeWorkerEvent>,
    ExpectEncodingIsFixedPoint<wire::DecodeWorkerKernelReply, wire::EncodeWorkerKernelReply>,
    ExpectEncodingIsFixedPoint<wire::DecodeUpkeepEvent, wire::EncodeUpkeepEvent>,
    ExpectEncodingIsFixedPoint<wire::DecodeGcRequest, wire::EncodeGcRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodePurgeRequest, wire::EncodePurgeRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodePinRequest, wire::EncodePinRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodePin, wire::EncodePin>,
    ExpectEncodingIsFixedPoint<wire::DecodePinsRequest, wire::EncodePinsRequest>,
    ExpectEncodingIsFixedPoint<wire::DecodePinList, wire::EncodePinList>,
    ExpectEncodingIsFixedPoint<wire::DecodeEntryQuery, wire::EncodeEntryQuery>,
    ExpectEncodingIsFixedPoint<wire::DecodeStoredEntry, wire::EncodeStoredEntry>,
    ExpectEncodingIsFixedPoint<wire::DecodeEntryReply, wire::EncodeEntryReply>,
    ExpectEncodingIsFixedPoint<wire::DecodeCaptureQuery, wire::EncodeCaptureQuery>,
    ExpectEncodingIsFixedPoint<wire::DecodeCaptureList, wire::EncodeCaptureList>,
    ExpectEncodingIsFixedPoint<wire::DecodeCapturePut, wire::EncodeCapturePut>,
    ExpectEncodingIsFixedPoint<wire::DecodeCaptureDrop, wire::EncodeCaptureDrop>,
    ExpectEncodingIsFixedPoint<wire::DecodeCaptureNote, wire::EncodeCaptureNote>,
};

wire::CompileCall SampleCall() {
  wire::CompileCall call;
  call.request_key = Sha256Of("request");
  call.graph = "graph";
  call.graph_name = "model";
  call.target = *Target::Parse("cpu/x86-64-v4+avx512_bf16");
  call.compiler_epoch = "stoker-1;llvm-22.1.8";
  call.have_kernels = {Sha256Of("kernel")};
  return call;
}

}  // namespace

std::vector<std::string> Seeds() {
  const Digest digest = Sha256Of("digest");
  const wire::Bundle bundle{"artifact", {{digest, "data"}}, "disk", 1.5};
  wire::LookupRequest lookup;
  lookup.request_key = lookup.graph_digest = digest;
  lookup.fields = {{"target", "cpu/x86-64-v3", digest}};
  wire::Report report;
  report.counters = {{"calls", 3.0}};
  report.fallback_ops = {{"aten.sort", 2}};
  wire::ListReply list;
  wire::ListEntry& entry = list.entries.emplace_back();
  entry.key = entry.artifact = digest;
  entry.ns = "default";
  entry.kind = "artifact";
  const wire::CaptureQuery captures{"default", digest, {{"entry", "f", digest}}, {PublicKey()}};
  // One for each decoder, in the order of kMessages.
  const std::string encodings[] = {
      wire::EncodeHello({1, "0.1.0", "stoker-1", 7, {"cpu"}, {PublicKey()}}),
      wire::EncodeErrorReply({ErrorCode::kDataLoss, "Field 'a' is damaged.", "a"}),
      wire::EncodeLookupRequest(lookup),
      wire::EncodeMiss({true, "never seen", 1}),
      wire::EncodeBundle(bundle),
      wire::EncodeCompileCall(SampleCall()),
      wire::EncodeCompileEvent(bundle),
      wire::EncodeReport(report),
      wire::EncodeListRequest({"default", "artifact", 10}),
      wire::EncodeListReply(list),
      wire::EncodeInspectRequest({"default", "0123abcd", {"graph"}}),
      wire::EncodeInspectReply({{{"graph", "text"}}}),
      wire::EncodeExplainRequest({"default", "0123", "4567"}),
      wire::EncodeExplainReply({{{"target", "a", "b"}}}),
      wire::EncodeWorkerRequest({SampleCall(), {"llvm"}, "id"}),
      wire::EncodeWorkerEvent(wire::KernelQuery{{digest}}),
      wire::EncodeWorkerEvent(wire::WorkerReady{{"seccomp"}, {"cpu"}}),
      wire::EncodeWorkerKernelReply({{{digest, digest, 4096}}}),
      wire::EncodeUpkeepEvent(wire::UpkeepReport{{{"blobs", 3}}}),
      wire::EncodeGcRequest({4096, 3600.0}),
      wire::EncodePurgeRequest({"team", "stoker-1", 86400.0, true}),
      wire::EncodePinRequest({"team", "0123"}),
      wire::EncodePin({"team", digest, "artifact", "model", 4096, 1.5}),
      wire::EncodePinsRequest({"team"}),
      wire::EncodePinList({{{"team", digest, "artifact", "model", 4096, 1.5}}, 4096, 8192}),
      wire::EncodeEntryQuery({"default", digest}),
      wire::EncodeStoredEntry({"default", digest, "artifact", "gpt2", 1.5, digest, {digest}, "?"}),
      wire::EncodeEntryReply({{digest}}),
      wire::EncodeCaptureQuery(captures),
      wire::EncodeCaptureList({{{digest, "data"}}}),
      wire::EncodeCapturePut({captures, "label", "capture"}),
      wire::EncodeCaptureDrop({"default", digest, digest, {PublicKey()}, {}}),
      wire::EncodeCaptureNote({"default", "f", "miss", "guard", "why"}),
  };
  static_assert(std::size(encodings) == std::size(kMessages));
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < std::size(encodings); ++i) {
    seeds.push_back(static_cast<char>(i) + encodings[i]);
  }
  return seeds;
}

void TryInput(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto message = static_cast<unsigned char>(bytes[0]) % std::size(kMessages);
  kMessages[message](bytes.substr(1));
}

}  // namespace stoker::fuzz
