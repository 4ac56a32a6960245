#include <charconv>
#include <limits>

#include "protocol/graph/build/attribute_text.h"
#include "protocol/graph/elements.h"
#include "protocol/graph/graph.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxListedElements = 16;

bool IsBareName(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    const bool bare = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.';
    if (!bare) return false;
  }
  return true;
}

void AppendFloat(float value, std::string& out) {
  char buffer[32];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

class GraphPrinter {
 public:
  // `indent`: blanks before the line that the graph ends on.
  GraphPrinter(const Graph& graph, std::size_t indent, std::string& out)
      : graph_(graph), indent_(indent), out_(out) {}

  void Print() {
    out_ += "graph @";
    if (IsBareName(graph_.name())) {
      out_ += graph_.name();
    } else {
      AppendQuoted(graph_.name(), out_);
    }
    out_ += '(';
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value > 0) out_ += ", ";
      AppendId(input.value);
      out_ += input.role == InputRole::kParameter ? ": parameter " : ": ";
      AppendType(graph_.type(input.value));
    }
    out_ += ") {\n";
    for (const Node& node : graph_.nodes()) AppendNode(node);
    AppendReturn();
    out_.append(indent_, ' ');
    out_ += '}';
  }

 private:
  void AppendId(ValueId id) {
    out_ += '%';
    char buffer[16];
    const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, id);
    out_.append(buffer, end);
  }

  void AppendIds(const std::vector<ValueId>& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) out_ += ", ";
      AppendId(ids[i]);
    }
  }

  void AppendReturn() {
    out_.append(indent_, ' ');
    out_ += "  return ";
    auto update = graph_.updates().begin();
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      if (i > 0) out_ += ", ";
      AppendId(graph_.outputs()[i]);
      if (update == graph_.updates().end() || update->output != i) continue;
      out_ += " updates ";
      AppendId(graph_.inputs()[(update++)->input].value);
    }
    out_ += '\n';
  }

  void AppendType(const TensorType& type) { out_ += type.ToString(); }

  void AppendNode(const Node& node) {
    out_.append(indent_, ' ');
    out_ += "  ";
    AppendIds(node.results);
    out_ += " = ";
    out_ += Name(node.kind);
    out_ += '(';
    AppendIds(node.operands);
    out_ += ')';
    if (!node.attributes.entries().empty()) {
      const char* separator = " {";
      for (const auto& [name, value] : node.attributes.entries()) {
        out_ += separator;
        out_ += Name(name);
        out_ += '=';
        if (const auto* region = std::get_if<Region>(&value)) {
          GraphPrinter(region->graph(), indent_ + 2, out_).Print();
        } else {
          AppendText(value, out_);
        }
        separator = ", ";
      }
      out_ += '}';
    }
    if (node.kind == OpKind::kConstant) AppendConstant(node);
    out_ += " : ";
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (i > 0) out_ += ", ";
      AppendType(graph_.type(node.results[i]));
    }
    out_ += '\n';
  }

  void AppendConstant(const Node& node) {
    const DType dtype = graph_.type(node.results[0]).dtype;
    const auto size = static_cast<std::size_t>(SizeInBytes(dtype));
    const std::size_t count = node.constant.size() / size;
    if (count > kMaxListedElements || !IsListable(dtype, node.constant)) {
      constexpr char kHex[] = "0123456789abcdef";
      out_ += " bytes(\"";
      for (const char c : node.constant) {
        out_ += kHex[static_cast<unsigned char>(c) >> 4];
        out_ += kHex[static_cast<unsigned char>(c) & 15];
      }
      out_ += "\")";
      return;
    }
    out_ += count == 1 ? " value(" : " value([";
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ", ";
      AppendElement(dtype, node.constant.data() + i * size);
    }
    out_ += count == 1 ? ")" : "])";
  }

  // Text has one NaN: others keep their bits as bytes.
  static bool IsListable(DType dtype, std::string_view elements) {
    if (!IsFloat(dtype)) return true;
    const std::string nan = ElementBytes(dtype, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < elements.size(); i += nan.size()) {
      const double value = ReadFloatElement(dtype, elements.data() + i);
      if (value != value && elements.substr(i, nan.size()) != nan) return false;
    }
    return true;
  }

  void AppendElement(DType dtype, const char* bytes) {
    if (dtype == DType::kBool) {
      out_ += ReadIntElement(dtype, bytes) != 0 ? "true" : "false";
    } else if (!IsFloat(dtype)) {
      out_ += std::to_string(ReadIntElement(dtype, bytes));
    } else if (dtype == DType::kF64) {
      AppendDouble(ReadFloatElement(dtype, bytes), out_);
    } else {
      AppendFloat(static_cast<float>(ReadFloatElement(dtype, bytes)), out_);
    }
  }

  const Graph& graph_;
  const std::size_t indent_;
  std::string& out_;
};

}  // namespace

std::string PrintGraph(const Graph& graph) {
  std::string out;
  out.reserve(128 * (graph.num_all_nodes() + graph.inputs().size() + 1));
  GraphPrinter(graph, 0, out).Print();
  return out += '\n';
}

}  // namespace stoker
