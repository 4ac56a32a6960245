#include "protocol/key/compile_request.h"

#include <algorithm>

#include "protocol/key/key_hasher.h"

namespace stoker {
namespace {

constexpr std::string_view kDomain = "stoker.request-key.3";

// The visitors unpack every member by structured binding: a member that is added to a keyed struct
// does not compile until it is visited here.

void Visit(const Target& target, KeyHasher& hasher) {
  hasher.Code("target.kind", static_cast<std::uint8_t>(target.kind()),
              target.kind() == TargetKind::kCpu ? "cpu" : "cuda");
  hasher.Text("target.arch", target.arch());
  ByteWriter bytes;
  std::string text;
  bytes.U64(target.features().size());
  for (const std::string& feature : target.features()) {
    bytes.Bytes(feature);
    text += (text.empty() ? "" : "+") + feature;
  }
  hasher.Field("target.features", bytes.str(), text);
}

void Visit(const CompileOptions& options, KeyHasher& hasher) {
  const auto& [numerics] = options;
  hasher.Code("options.numerics", static_cast<std::uint8_t>(numerics), Name(numerics));
}

// Least likely to differ first: the first difference that is explained should say most.
void Visit(const Digest& graph_digest, const Target& target, const CompileOptions& options,
           std::string_view compiler_epoch, KeyHasher& hasher) {
  hasher.Text("compiler_epoch", compiler_epoch);
  Visit(target, hasher);
  Visit(options, hasher);
  hasher.Name("graph", graph_digest);
}

void Visit(const CompileRequest& request, KeyHasher& hasher) {
  const auto& [graph, target, options, compiler_epoch] = request;
  Visit(graph.digest(), target, options, compiler_epoch, hasher);
}

}  // namespace

const KeyField* FindField(const std::vector<KeyField>& fields, std::string_view tag) {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const KeyField& field) { return field.tag == tag; });
  return it == fields.end() ? nullptr : &*it;
}

std::string TextOf(const std::vector<KeyField>& fields, std::string_view tag) {
  const KeyField* field = FindField(fields, tag);
  return field == nullptr ? std::string() : field->text;
}

std::vector<const KeyField*> DifferencesOf(const std::vector<KeyField>& from,
                                           const std::vector<KeyField>& to) {
  std::vector<const KeyField*> differences;
  for (const KeyField& field : to) {
    const bool is_there = std::any_of(from.begin(), from.end(), [&](const KeyField& other) {
      return other.tag == field.tag && other.digest == field.digest;
    });
    if (!is_there) differences.push_back(&field);
  }
  return differences;
}

RequestKey KeyOf(const CompileRequest& request) {
  KeyHasher hasher(kDomain);
  Visit(request, hasher);
  return RequestKey{hasher.Finish()};
}

std::vector<KeyField> FieldsOf(const CompileRequest& request) {
  KeyHasher hasher(kDomain);
  Visit(request, hasher);
  return hasher.fields();
}

std::string KeyLogOf(const CompileRequest& request) {
  KeyHasher hasher(kDomain);
  Visit(request, hasher);
  return hasher.log() + "key [" + hasher.Finish().ToHex() + "]\n";
}

RequestKey KeyOf(const Digest& graph_digest, const Target& target, const CompileOptions& options,
                 std::string_view compiler_epoch) {
  KeyHasher hasher(kDomain);
  Visit(graph_digest, target, options, compiler_epoch, hasher);
  return RequestKey{hasher.Finish()};
}

std::vector<KeyField> FieldsOf(const Digest& graph_digest, const Target& target,
                               const CompileOptions& options, std::string_view compiler_epoch) {
  KeyHasher hasher(kDomain);
  Visit(graph_digest, target, options, compiler_epoch, hasher);
  return hasher.fields();
}

}  // namespace stoker
