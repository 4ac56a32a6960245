// Recursive-descent parser of the text form in OPS.md. What nests are dims, whose depth
// SymDim::Parse bounds, and regions, whose depth kMaxRegionDepth does.
#include <charconv>
#include <unordered_map>
#include <utility>

#include "protocol/graph/build/graph_builder.h"
#include "protocol/graph/elements.h"
#include "protocol/graph/text/lexer.h"

namespace stoker {
namespace {

// The whole of `text` as a number.
template <typename T>
bool ParseNumber(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && stop == end && !text.empty();
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Result<std::string> ParseHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return InvalidArgument("Constant bytes have an odd number of digits.");
  if (hex.size() / 2 > kMaxConstantBytes) {
    return ResourceExhausted("Constant of " + std::to_string(hex.size() / 2) +
                             " bytes exceeds the limit of " + std::to_string(kMaxConstantBytes) +
                             ".");
  }
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = HexDigit(hex[2 * i]);
    const int low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return InvalidArgument("Constant bytes have a character that is no lowercase hex digit.");
    }
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return bytes;
}

// Appends one element; false when the text is not a value of the dtype.
bool AppendElement(DType dtype, std::string_view text, std::string& out) {
  char bytes[8];
  if (dtype == DType::kBool) {
    if (text != "true" && text != "false") return false;
    WriteIntElement(dtype, text == "true" ? 1 : 0, bytes);
  } else if (!IsFloat(dtype)) {
    std::int64_t value = 0;
    if (!ParseNumber(text, value) || WrapToDType(dtype, value) != value) return false;
    WriteIntElement(dtype, value, bytes);
  } else if (dtype == DType::kF64) {
    double value = 0;
    if (!ParseNumber(text, value)) return false;
    WriteFloatElement(dtype, value, bytes);
  } else {
    // Not through double: a decimal is rounded to f32 once.
    float value = 0;
    if (!ParseNumber(text, value)) return false;
    WriteFloatElement(dtype, static_cast<double>(value), bytes);
  }
  out.append(bytes, static_cast<std::size_t>(SizeInBytes(dtype)));
  return true;
}

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// "0.5" (a splat) or "[1, 2, 3]" (all elements).
Result<std::string> ParseElements(const TensorType& type, std::string_view text) {
  text = Trim(text);
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (list) text = Trim(text.substr(1, text.size() - 2));
  std::string out;
  std::size_t count = 0;
  for (bool more = !text.empty(); more; ++count) {
    const std::size_t comma = list ? text.find(',') : std::string_view::npos;
    const std::string_view element = Trim(text.substr(0, comma));
    if (!AppendElement(type.dtype, element, out)) {
      return InvalidArgument("Constant element '" + std::string(element.substr(0, 40)) +
                             "' is not a value of " + std::string(Name(type.dtype)) + ".");
    }
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  if (list && SymDim(static_cast<std::int64_t>(count)) != type.shape.NumElements()) {
    return InvalidArgument("A constant of type " + type.ToString() + " lists " +
                           std::to_string(count) + " elements.");
  }
  if (!list && count == 0) return InvalidArgument("A constant has no value.");
  return out;
}

class GraphParser {
 public:
  // `depth`: how many graphs this one is in.
  GraphParser(GraphLexer& lexer, int depth) : lexer_(lexer), builder_(""), depth_(depth) {}

  // What follows the graph is left in the lexer.
  Result<Graph> Parse() {
    if (lexer_.Word() != "graph") return lexer_.Unexpected("'graph' at its start");
    STOKER_RETURN_IF_ERROR(lexer_.Expect('@'));
    STOKER_RETURN_IF_ERROR(ParseName());
    STOKER_RETURN_IF_ERROR(ParseInputs());
    STOKER_RETURN_IF_ERROR(lexer_.Expect('{'));
    while (lexer_.Peek() == '%') STOKER_RETURN_IF_ERROR(ParseNode());
    if (lexer_.Word() != "return") return lexer_.Unexpected("a node or 'return'");
    STOKER_RETURN_IF_ERROR(ParseOutputs());
    STOKER_RETURN_IF_ERROR(lexer_.Expect('}'));
    return builder_.Build(outputs_, updates_);
  }

 private:
  Status ParseName() {
    std::string name;
    if (lexer_.Peek() == '"') {
      STOKER_TRY(name, lexer_.Quoted());
    } else {
      name = lexer_.Word();
      if (name.empty()) return lexer_.Unexpected("the name of the graph");
    }
    builder_ = GraphBuilder(std::move(name));
    return Ok();
  }

  Status ParseInputs() {
    STOKER_RETURN_IF_ERROR(lexer_.Expect('('));
    while (!lexer_.Take(')')) {
      if (builder_.num_values() > 0) STOKER_RETURN_IF_ERROR(lexer_.Expect(','));
      STOKER_TRY(const std::string_view name, ValueName());
      STOKER_RETURN_IF_ERROR(lexer_.Expect(':'));
      std::string_view text = lexer_.Type();
      InputRole role = InputRole::kActivation;
      if (text == "parameter") {
        role = InputRole::kParameter;
        text = lexer_.Type();
      }
      STOKER_TRY(TensorType type, ParseType(text));
      const ValueId id = builder_.Input(std::move(type), role);
      STOKER_RETURN_IF_ERROR(BuilderStatus());
      STOKER_RETURN_IF_ERROR(Define(name, id));
      ++num_inputs_;
    }
    return Ok();
  }

  // %5, %6 updates %0
  Status ParseOutputs() {
    do {
      STOKER_TRY(const ValueId output, DefinedValue());
      outputs_.push_back(output);
      if (lexer_.Peek() != 'u') continue;
      if (lexer_.Word() != "updates") return lexer_.Unexpected("'updates'");
      STOKER_TRY(const ValueId input, DefinedValue());
      if (input >= num_inputs_) return AtLine("What an output updates is no input.");
      updates_.push_back({static_cast<std::uint32_t>(outputs_.size() - 1), input});
    } while (lexer_.Take(','));
    return Ok();
  }

  // Results = op(operands) {attributes} value(...) : types
  Status ParseNode() {
    node_names_.clear();
    do {
      STOKER_TRY(const std::string_view name, ValueName());
      node_names_.push_back(name);
    } while (lexer_.Take(','));
    STOKER_RETURN_IF_ERROR(lexer_.Expect('='));
    const std::string_view op = lexer_.Word();
    const std::optional<OpKind> kind = ParseOpKind(op);
    if (!kind) return AtLine("Op '" + std::string(op.substr(0, 80)) + "' does not exist.");
    STOKER_RETURN_IF_ERROR(lexer_.Expect('('));
    std::vector<ValueId> operands;
    if (!lexer_.Take(')')) {
      STOKER_TRY(operands, Values());
      STOKER_RETURN_IF_ERROR(lexer_.Expect(')'));
    }
    STOKER_TRY(Attributes attributes, ParseAttributes());
    if (*kind == OpKind::kConstant) {
      if (!operands.empty() || !attributes.entries().empty()) {
        return AtLine("A constant has operands or attributes.");
      }
      return ParseConstant();
    }
    STOKER_TRY(std::vector<TensorType> types, ParseTypes());
    if (types.size() != node_names_.size()) {
      return AtLine(std::to_string(node_names_.size()) + " results have " +
                    std::to_string(types.size()) + " types.");
    }
    const std::vector<ValueId> results =
        builder_.AddMulti(*kind, operands, std::move(attributes), std::move(types));
    STOKER_RETURN_IF_ERROR(BuilderStatus());
    for (std::size_t i = 0; i < results.size(); ++i) {
      STOKER_RETURN_IF_ERROR(Define(node_names_[i], results[i]));
    }
    return Ok();
  }

  Status ParseConstant() {
    const std::string_view form = lexer_.Word();
    if (form != "value" && form != "bytes") return lexer_.Unexpected("'value' or 'bytes'");
    STOKER_RETURN_IF_ERROR(lexer_.Expect('('));
    std::string_view payload;
    if (form == "bytes") {
      STOKER_RETURN_IF_ERROR(lexer_.Expect('"'));
      STOKER_TRY(payload, lexer_.Until('"'));
      STOKER_RETURN_IF_ERROR(lexer_.Expect(')'));
    } else {
      STOKER_TRY(payload, lexer_.Until(')'));
    }
    STOKER_TRY(std::vector<TensorType> types, ParseTypes());
    if (types.size() != 1 || node_names_.size() != 1) {
      return AtLine("A constant has several results.");
    }
    Result<std::string> elements =
        form == "bytes" ? ParseHex(payload) : ParseElements(types[0], payload);
    if (!elements.ok()) return AtLine(elements.error());
    const ValueId id = builder_.Constant(std::move(types[0]), *std::move(elements));
    STOKER_RETURN_IF_ERROR(BuilderStatus());
    return Define(node_names_[0], id);
  }

  Result<Attributes> ParseAttributes() {
    Attributes attributes;
    if (!lexer_.Take('{') || lexer_.Take('}')) return attributes;
    do {
      const std::string_view text = lexer_.Word();
      const std::optional<AttrName> name = ParseAttrName(text);
      if (!name) {
        return AtLine("Attribute '" + std::string(text.substr(0, 80)) + "' does not exist.");
      }
      if (attributes.Find(*name) != nullptr) {
        return AtLine("Attribute '" + std::string(text) + "' is given twice.");
      }
      STOKER_RETURN_IF_ERROR(lexer_.Expect('='));
      STOKER_TRY(AttrValue value, ParseValue(TypeOf(*name)));
      attributes.Set(*name, std::move(value));
    } while (lexer_.Take(','));
    STOKER_RETURN_IF_ERROR(lexer_.Expect('}'));
    return attributes;
  }

  Result<AttrValue> ParseValue(AttrType type) {
    switch (type) {
      case AttrType::kInt: {
        STOKER_TRY(const std::int64_t v, Number<std::int64_t>("an integer"));
        return AttrValue(v);
      }
      case AttrType::kBool: {
        const std::string_view word = lexer_.Scalar();
        if (word != "true" && word != "false") {
          return AtLine("'" + std::string(word.substr(0, 40)) + "' is not true or false.");
        }
        return AttrValue(word == "true");
      }
      case AttrType::kFloat: {
        STOKER_TRY(const double v, Number<double>("a number"));
        return AttrValue(v);
      }
      case AttrType::kString: {
        STOKER_TRY(std::string v, lexer_.Quoted());
        return AttrValue(std::move(v));
      }
      case AttrType::kInts:
        return List<std::int64_t>([&] { return Number<std::int64_t>("an integer"); });
      case AttrType::kDims:
        return List<SymDim>([&] { return Dim(); });
      case AttrType::kFloats:
        return List<double>([&] { return Number<double>("a number"); });
      case AttrType::kGraph:
        return ParseRegion();
    }
    return Internal("Attribute type without a parser.");
  }

  Result<AttrValue> ParseRegion() {
    if (depth_ == kMaxRegionDepth) {
      return AtLine(
          ResourceExhausted("Graphs nest deeper than " + std::to_string(kMaxRegionDepth) + "."));
    }
    STOKER_TRY(Graph graph, GraphParser(lexer_, depth_ + 1).Parse());
    return AttrValue(Region(std::move(graph)));
  }

  template <typename T, typename ParseElement>
  Result<AttrValue> List(ParseElement parse) {
    std::vector<T> list;
    STOKER_RETURN_IF_ERROR(lexer_.Expect('['));
    if (lexer_.Take(']')) return AttrValue(std::move(list));
    do {
      STOKER_TRY(T v, parse());
      list.push_back(std::move(v));
    } while (lexer_.Take(','));
    STOKER_RETURN_IF_ERROR(lexer_.Expect(']'));
    return AttrValue(std::move(list));
  }

  template <typename T>
  Result<T> Number(std::string_view what) {
    T value = 0;
    const std::string_view text = lexer_.Scalar();
    if (ParseNumber(text, value)) return value;
    return AtLine("'" + std::string(text.substr(0, 40)) + "' is not " + std::string(what) + ".");
  }

  Result<SymDim> Dim() {
    const std::string_view text = lexer_.Scalar();
    if (std::int64_t constant = 0; ParseNumber(text, constant)) return SymDim(constant);
    Result<SymDim> dim = SymDim::Parse(text);
    if (!dim.ok()) return AtLine(dim.error());
    return dim;
  }

  Result<TensorType> ParseType(std::string_view text) {
    Result<TensorType> type = TensorType::Parse(text);
    if (!type.ok()) return AtLine(type.error());
    return type;
  }

  Result<std::vector<TensorType>> ParseTypes() {
    STOKER_RETURN_IF_ERROR(lexer_.Expect(':'));
    std::vector<TensorType> types;
    do {
      STOKER_TRY(TensorType type, ParseType(lexer_.Type()));
      types.push_back(std::move(type));
    } while (lexer_.Take(','));
    return types;
  }

  // At least one value.
  Result<std::vector<ValueId>> Values() {
    std::vector<ValueId> values;
    do {
      STOKER_TRY(const ValueId value, DefinedValue());
      values.push_back(value);
    } while (lexer_.Take(','));
    return values;
  }

  Result<ValueId> DefinedValue() {
    STOKER_TRY(const std::string_view name, ValueName());
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    return AtLine("Value %" + std::string(name.substr(0, 80)) + " is not defined.");
  }

  Result<std::string_view> ValueName() {
    STOKER_RETURN_IF_ERROR(lexer_.Expect('%'));
    const std::string_view name = lexer_.Word();
    if (name.empty()) return lexer_.Unexpected("the name of a value");
    return name;
  }

  Status Define(std::string_view name, ValueId id) {
    if (names_.emplace(name, id).second) return Ok();
    return AtLine("Value %" + std::string(name.substr(0, 80)) + " is defined twice.");
  }

  Error AtLine(Error error) const {
    return error.WithContext("Line " + std::to_string(lexer_.line()));
  }
  Error AtLine(std::string message) const { return AtLine(InvalidArgument(std::move(message))); }

  Status BuilderStatus() const {
    if (builder_.ok()) return Ok();
    return AtLine(builder_.error());
  }

  GraphLexer& lexer_;
  GraphBuilder builder_;
  const int depth_;
  std::unordered_map<std::string_view, ValueId> names_;
  std::vector<std::string_view> node_names_;  // Results of the node being parsed.
  std::uint32_t num_inputs_ = 0;              // Their values are numbered first.
  std::vector<ValueId> outputs_;
  std::vector<InputUpdate> updates_;
};

}  // namespace

Result<Graph> ParseGraph(std::string_view text) {
  GraphLexer lexer(text);
  STOKER_TRY(Graph graph, GraphParser(lexer, 0).Parse());
  if (!lexer.AtEnd()) return lexer.Unexpected("nothing after the graph");
  return graph;
}

}  // namespace stoker
