// CompileRequest and its RequestKey.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/graph/graph.h"
#include "protocol/key/compile_options.h"
#include "protocol/key/target.h"

namespace stoker {

struct CompileRequest {
  Graph graph;
  Target target;
  CompileOptions options;
  std::string compiler_epoch;  // compiler/compile.h's: the daemon's, told in its greeting.
};

// One keyed field: its tag, a readable value and its digest. The list of these is what
// `stoker key --explain` compares.
struct KeyField {
  std::string tag;
  std::string text;
  Digest digest;
};

// The field of a capture's key that names the compiler's epoch.
inline constexpr std::string_view kCompilerTag = "compiler";

// The field of that tag, or null.
const KeyField* FindField(const std::vector<KeyField>& fields, std::string_view tag);
// Its text; empty where there is none.
std::string TextOf(const std::vector<KeyField>& fields, std::string_view tag);
// The fields of `to` that `from` has otherwise, or not at all.
std::vector<const KeyField*> DifferencesOf(const std::vector<KeyField>& from,
                                           const std::vector<KeyField>& to);

struct RequestKey {
  Digest digest;
  friend bool operator==(const RequestKey&, const RequestKey&) = default;
};

// Every field hashed under its own tag, length-prefixed (one visitor lists them).
RequestKey KeyOf(const CompileRequest& request);
std::vector<KeyField> FieldsOf(const CompileRequest& request);
// What was hashed, one line each, so that two runs can be compared.
std::string KeyLogOf(const CompileRequest& request);

// The same key from a graph's digest alone, for a client that has not built the Graph again.
RequestKey KeyOf(const Digest& graph_digest, const Target& target, const CompileOptions& options,
                 std::string_view compiler_epoch);
std::vector<KeyField> FieldsOf(const Digest& graph_digest, const Target& target,
                               const CompileOptions& options, std::string_view compiler_epoch);

}  // namespace stoker
