// The binary form of a graph; README.md describes it.
#include <algorithm>
#include <utility>

#include "protocol/base/bytes.h"
#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

constexpr std::string_view kMagic = "STKG";
constexpr std::uint32_t kVersion = 1;

// The least bytes that one element of a list takes: what bounds a count by the bytes that are left.
constexpr std::size_t kMinDimBytes = 9;
constexpr std::size_t kMinTypeBytes = 2;
constexpr std::size_t kMinInputBytes = 1 + kMinTypeBytes;
constexpr std::size_t kMinAttributeBytes = 6;
constexpr std::size_t kUpdateBytes = 2 * 4;
constexpr std::size_t kMinNodeBytes = 4 + 8 + 8 + 8 + 8;

class GraphWriter {
 public:
  std::string Write(const Graph& graph) && {
    out_.Raw(kMagic);
    out_.U32(kVersion);
    out_.U64(graph.inputs().size());
    for (const GraphInput& input : graph.inputs()) {
      out_.U8(static_cast<std::uint8_t>(input.role));
      Type(graph.type(input.value));
    }
    out_.U64(graph.nodes().size());
    for (const Node& node : graph.nodes()) WriteNode(graph, node);
    Ids(graph.outputs());
    WriteUpdates(graph.updates());
    return std::move(out_).Take();
  }

  void operator()(std::int64_t v) { out_.I64(v); }
  void operator()(bool v) { out_.U8(v ? 1 : 0); }
  void operator()(double v) { out_.F64(v); }
  void operator()(const std::string& v) { out_.Bytes(v); }
  void operator()(const Region& v) { out_.Bytes(EncodeGraph(v.graph())); }
  void operator()(const SymDim& dim) {
    if (dim.IsConstant()) {
      out_.U8(0);
      out_.I64(dim.constant());
    } else {
      out_.U8(1);
      out_.Bytes(dim.ToString());
    }
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    out_.U64(list.size());
    for (const T& v : list) (*this)(v);
  }

 private:
  void Type(const TensorType& type) {
    out_.U8(static_cast<std::uint8_t>(type.dtype));
    out_.U8(static_cast<std::uint8_t>(type.shape.rank()));
    for (const SymDim& dim : type.shape) (*this)(dim);
  }

  void Ids(const std::vector<ValueId>& ids) {
    out_.U64(ids.size());
    for (const ValueId id : ids) out_.U32(id);
  }

  void WriteUpdates(const std::vector<InputUpdate>& updates) {
    if (updates.empty()) return;
    out_.U64(updates.size());
    for (const InputUpdate& update : updates) {
      out_.U32(update.output);
      out_.U32(update.input);
    }
  }

  void WriteNode(const Graph& graph, const Node& node) {
    out_.U32(static_cast<std::uint32_t>(node.kind));
    Ids(node.operands);
    out_.U64(node.attributes.entries().size());
    for (const auto& [name, value] : node.attributes.entries()) {
      out_.U32(static_cast<std::uint32_t>(name));
      out_.U8(static_cast<std::uint8_t>(value.index()));
      std::visit(*this, value);
    }
    out_.U64(node.results.size());
    for (const ValueId id : node.results) Type(graph.type(id));
    out_.Bytes(node.constant);
  }

  ByteWriter out_;
};

class GraphReader {
 public:
  // `depth`: how many graphs this one is in.
  GraphReader(std::string_view bytes, int depth)
      : bytes_(bytes), in_(bytes), builder_("graph"), depth_(depth) {}

  Result<Graph> Read() {
    STOKER_TRY(const std::string_view magic, in_.Raw("magic", kMagic.size()));
    if (magic != kMagic) return InvalidArgument("The bytes are not an encoded graph.");
    STOKER_TRY(const std::uint32_t version, in_.U32("version"));
    if (version != kVersion) {
      return InvalidArgument("Graph encoding version " + std::to_string(version) +
                             " is not version " + std::to_string(kVersion) + ".");
    }
    STOKER_TRY(const std::uint64_t inputs, in_.Count("inputs", kMinInputBytes));
    for (std::uint64_t i = 0; i < inputs; ++i) STOKER_RETURN_IF_ERROR(ReadInput());
    STOKER_TRY(const std::uint64_t nodes, in_.Count("nodes", kMinNodeBytes));
    for (std::uint64_t i = 0; i < nodes; ++i) {
      if (Status status = ReadNode(); !status.ok()) {
        return status.error().WithContext("Node " + std::to_string(i) + " of the encoding");
      }
    }
    STOKER_TRY(const std::vector<ValueId> outputs, Ids("outputs"));
    STOKER_TRY(const std::vector<InputUpdate> updates, ReadUpdates());
    STOKER_RETURN_IF_ERROR(in_.ExpectEnd());
    STOKER_TRY(Graph graph, builder_.Build(outputs, updates));
    if (graph.digest() != Sha256Of(bytes_)) {
      return InvalidArgument("The bytes are not the canonical encoding of their graph.");
    }
    return graph;
  }

 private:
  Status ReadInput() {
    STOKER_TRY(const std::uint8_t role, in_.U8("role"));
    if (role > static_cast<std::uint8_t>(InputRole::kParameter)) {
      return InvalidArgument("Field 'role' is " + std::to_string(role) + "; expected 0 or 1.");
    }
    STOKER_TRY(TensorType type, Type());
    builder_.Input(std::move(type), static_cast<InputRole>(role));
    return BuilderStatus();
  }

  Status ReadNode() {
    STOKER_TRY(const std::uint32_t code, in_.U32("kind"));
    const std::optional<OpKind> kind =
        code <= UINT16_MAX ? OpKindFromCode(static_cast<std::uint16_t>(code)) : std::nullopt;
    if (!kind) {
      return InvalidArgument("Field 'kind' is " + std::to_string(code) + ", which is no op.");
    }
    STOKER_TRY(const std::vector<ValueId> operands, Ids("operands"));
    STOKER_TRY(Attributes attributes, ReadAttributes());
    STOKER_TRY(const std::uint64_t count, in_.Count("results", kMinTypeBytes));
    std::vector<TensorType> types;
    for (std::uint64_t i = 0; i < count; ++i) {
      STOKER_TRY(TensorType type, Type());
      types.push_back(std::move(type));
    }
    STOKER_TRY(const std::string_view constant, in_.Bytes("constant", kMaxConstantBytes));
    if (*kind == OpKind::kConstant) {
      if (!operands.empty() || !attributes.entries().empty() || types.size() != 1) {
        return InvalidArgument("A constant has operands, attributes or several results.");
      }
      builder_.Constant(std::move(types[0]), std::string(constant));
      return BuilderStatus();
    }
    if (!constant.empty()) return InvalidArgument("Only a constant has constant bytes.");
    builder_.AddMulti(*kind, operands, std::move(attributes), std::move(types));
    return BuilderStatus();
  }

  Result<std::vector<InputUpdate>> ReadUpdates() {
    std::vector<InputUpdate> updates;
    if (in_.AtEnd()) return updates;
    STOKER_TRY(const std::uint64_t count, in_.Count("updates", kUpdateBytes));
    for (std::uint64_t i = 0; i < count; ++i) {
      InputUpdate& update = updates.emplace_back();
      STOKER_TRY(update.output, in_.U32("updates.output"));
      STOKER_TRY(update.input, in_.U32("updates.input"));
    }
    return updates;
  }

  Result<Attributes> ReadAttributes() {
    STOKER_TRY(const std::uint64_t count, in_.Count("attributes", kMinAttributeBytes));
    Attributes attributes;
    for (std::uint64_t i = 0; i < count; ++i) {
      STOKER_TRY(const std::uint32_t code, in_.U32("attribute name"));
      const std::optional<AttrName> name =
          code <= UINT16_MAX ? AttrNameFromCode(static_cast<std::uint16_t>(code)) : std::nullopt;
      if (!name) {
        return InvalidArgument("Field 'attribute name' is " + std::to_string(code) +
                               ", which is no attribute.");
      }
      STOKER_TRY(const std::uint8_t type, in_.U8("attribute type"));
      if (type != static_cast<std::uint8_t>(TypeOf(*name))) {
        return InvalidArgument("Attribute '" + std::string(Name(*name)) + "' has type " +
                               std::to_string(type) + "; expected " +
                               std::to_string(static_cast<int>(TypeOf(*name))) + ".");
      }
      STOKER_TRY(AttrValue value, ReadValue(TypeOf(*name)));
      attributes.Set(*name, std::move(value));
    }
    return attributes;
  }

  Result<AttrValue> ReadValue(AttrType type) {
    switch (type) {
      case AttrType::kInt: {
        STOKER_TRY(const std::int64_t v, in_.I64("attribute"));
        return AttrValue(v);
      }
      case AttrType::kBool: {
        STOKER_TRY(const std::uint8_t v, in_.U8("attribute"));
        if (v > 1) return InvalidArgument("A boolean is " + std::to_string(v) + ".");
        return AttrValue(v == 1);
      }
      case AttrType::kFloat: {
        STOKER_TRY(const double v, in_.F64("attribute"));
        return AttrValue(v);
      }
      case AttrType::kString: {
        STOKER_TRY(const std::string_view v, in_.Bytes("attribute", kMaxTargetBytes));
        return AttrValue(std::string(v));
      }
      case AttrType::kInts:
        return List<std::int64_t>(8, [&] { return in_.I64("attribute"); });
      case AttrType::kDims:
        return List<SymDim>(kMinDimBytes, [&] { return Dim(); });
      case AttrType::kFloats:
        return List<double>(8, [&] { return in_.F64("attribute"); });
      case AttrType::kGraph:
        return ReadRegion();
    }
    return Internal("Attribute type without a reader.");
  }

  Result<AttrValue> ReadRegion() {
    if (depth_ == kMaxRegionDepth) {
      return ResourceExhausted("Graphs nest deeper than " + std::to_string(kMaxRegionDepth) + ".");
    }
    STOKER_TRY(const std::string_view bytes, in_.Bytes("attribute", in_.remaining()));
    STOKER_TRY(Graph graph, GraphReader(bytes, depth_ + 1).Read());
    return AttrValue(Region(std::move(graph)));
  }

  template <typename T, typename ReadElement>
  Result<AttrValue> List(std::size_t min_element_bytes, ReadElement read) {
    STOKER_TRY(const std::uint64_t count, in_.Count("attribute", min_element_bytes));
    std::vector<T> list;
    for (std::uint64_t i = 0; i < count; ++i) {
      STOKER_TRY(T v, read());
      list.push_back(std::move(v));
    }
    return AttrValue(std::move(list));
  }

  Result<std::vector<ValueId>> Ids(std::string_view field) {
    STOKER_TRY(const std::uint64_t count, in_.Count(field, sizeof(ValueId)));
    std::vector<ValueId> ids;
    ids.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      STOKER_TRY(const ValueId id, in_.U32(field));
      ids.push_back(id);
    }
    return ids;
  }

  Result<TensorType> Type() {
    STOKER_TRY(const std::uint8_t code, in_.U8("dtype"));
    const std::optional<DType> dtype = DTypeFromCode(code);
    if (!dtype) {
      return InvalidArgument("Field 'dtype' is " + std::to_string(code) + ", which is no dtype.");
    }
    STOKER_TRY(const std::uint8_t rank, in_.U8("rank"));
    std::vector<SymDim> dims;
    for (std::uint8_t i = 0; i < rank; ++i) {
      STOKER_TRY(SymDim dim, Dim());
      dims.push_back(std::move(dim));
    }
    return TensorType{*dtype, std::move(dims)};
  }

  Result<SymDim> Dim() {
    STOKER_TRY(const std::uint8_t tag, in_.U8("dim"));
    if (tag == 0) {
      STOKER_TRY(const std::int64_t constant, in_.I64("dim"));
      return SymDim(constant);
    }
    if (tag != 1) return InvalidArgument("Field 'dim' has tag " + std::to_string(tag) + ".");
    STOKER_TRY(const std::string_view text, in_.Bytes("dim", kMaxSymDimText));
    return SymDim::Parse(text);
  }

  Status BuilderStatus() const {
    if (builder_.ok()) return Ok();
    return builder_.error();
  }

  std::string_view bytes_;
  ByteReader in_;
  GraphBuilder builder_;
  const int depth_;
};

}  // namespace

std::string EncodeGraph(const Graph& graph) { return GraphWriter().Write(graph); }

Result<Graph> DecodeGraph(std::string_view bytes) { return GraphReader(bytes, 0).Read(); }

}  // namespace stoker
