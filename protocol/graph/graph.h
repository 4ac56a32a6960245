// Graph: an immutable SSA graph of Nodes over Values. Made by GraphBuilder, ParseGraph or
// DecodeGraph, each of which verifies; a Graph that exists is well formed.
//
// Canonical form: nodes stand in the depth-first postorder of the outputs (operands left to right),
// dead nodes are gone, equal nodes are merged (extern_call is not, nor what has one in a region: it
// may draw random numbers), value ids count the inputs, then the results of the nodes in order.
// Every symbol is the whole size of some input dimension, and symbols are numbered by the first
// such one: a region has symbols of its own. A constant whose elements are all equal is a splat.
// Inputs keep their order: it is the calling convention. Updates stand in the order of their
// outputs; one of an input with itself says nothing and is gone. The digest is SHA-256 of the
// canonical encoding; names and insertion order do not enter it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/graph/attribute.h"
#include "protocol/graph/op_kind.h"
#include "protocol/graph/tensor_type.h"

namespace stoker {

using ValueId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr std::uint32_t kNoNode = 0xffffffffU;

// Limits of one graph with its regions; beyond them building, parsing and decoding fail with
// ResourceExhausted.
inline constexpr std::size_t kMaxNodes = 1U << 20;
inline constexpr std::size_t kMaxValues = 1U << 22;
inline constexpr std::size_t kMaxTargetBytes = 4096;            // extern_call's target.
inline constexpr std::int64_t kMaxElements = INT64_C(1) << 48;  // Of one value of static shape.
inline constexpr std::size_t kMaxConstantBytes = 64U << 20;  // All constants of a graph together.

enum class InputRole : std::uint8_t {
  kActivation = 0,  // Changes with every call.
  kParameter = 1,   // The same tensor in call after call: what depends on parameters alone is
                    // computed once, when they are bound.
};

struct GraphInput {
  ValueId value;
  InputRole role;
};

struct Value {
  TensorType type;
  NodeId producer = kNoNode;  // kNoNode: a graph input.
  std::uint32_t index = 0;    // Which result of the producer, or which input.
};

// The memory of an input of a call becomes that of an output: afterwards the input holds what the
// output is. An activation of the output's type; no input and no output is in two.
struct InputUpdate {
  std::uint32_t output = 0;
  std::uint32_t input = 0;
  friend bool operator==(const InputUpdate&, const InputUpdate&) = default;
};

struct Node {
  OpKind kind;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attributes attributes;
  // constant only: elements in row-major order, little-endian; a single element means a splat (so
  // does an empty tensor, whose one element is 0).
  std::string constant;
};

bool CallsHost(const Node& node);  // An extern_call, or one in a region.

class Graph {
 public:
  const std::string& name() const { return name_; }  // For people; not part of the digest.
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  // By output. What the graph computes does not depend on them.
  const std::vector<InputUpdate>& updates() const { return updates_; }
  const std::vector<Node>& nodes() const { return nodes_; }  // Topological order.
  const std::vector<Value>& values() const { return values_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const TensorType& type(ValueId id) const { return values_[id].type; }
  std::uint32_t num_symbols() const { return num_symbols_; }
  // Of all nodes with those of their regions: how many, and the bytes of constants.
  std::size_t num_all_nodes() const { return num_all_nodes_; }
  std::size_t all_constant_bytes() const { return all_constant_bytes_; }
  int region_depth() const { return region_depth_; }  // How deep regions nest; 0: there are none.
  bool calls_host() const { return calls_host_; }     // An extern_call, here or in a region.

  const Digest& digest() const { return digest_; }

 private:
  friend class GraphBuilder;
  std::string name_;
  std::vector<GraphInput> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<InputUpdate> updates_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::uint32_t num_symbols_ = 0;
  std::size_t num_all_nodes_ = 0;
  std::size_t all_constant_bytes_ = 0;
  int region_depth_ = 0;
  bool calls_host_ = false;
  Digest digest_;
};

// Canonical binary encoding (graph/ENCODING in README.md). The name is not part of it.
std::string EncodeGraph(const Graph& graph);
// Verifies every node. Errors name the node, the operand or attribute, and the limit. Bytes that
// are not the canonical encoding of their graph are refused: the digest of the bytes is the digest
// of the graph.
Result<Graph> DecodeGraph(std::string_view bytes);

// Readable text form; ParseGraph(PrintGraph(g)) has the same digest, and printing it again gives
// the same text. The grammar is in OPS.md.
std::string PrintGraph(const Graph& graph);
Result<Graph> ParseGraph(std::string_view text);

}  // namespace stoker
