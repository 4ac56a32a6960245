#include "protocol/graph/build/attribute_text.h"

#include <charconv>

#include "protocol/graph/build/infer.h"
#include "protocol/graph/graph.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxErrorText = 200;

struct ValuePrinter {
  std::string& out;

  void operator()(std::int64_t v) const { out += std::to_string(v); }
  void operator()(bool v) const { out += v ? "true" : "false"; }
  void operator()(double v) const { AppendDouble(v, out); }
  void operator()(const std::string& v) const { AppendQuoted(v, out); }
  void operator()(const SymDim& v) const { out += v.ToString(); }
  void operator()(const Region& v) const { out += "graph @" + v.graph().name(); }  // For errors.
  template <typename T>
  void operator()(const std::vector<T>& list) const {
    out += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ',';
      (*this)(list[i]);
    }
    out += ']';
  }
};

}  // namespace

void AppendText(const AttrValue& value, std::string& out) { std::visit(ValuePrinter{out}, value); }

void AppendQuoted(std::string_view text, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out += '"';
}

void AppendDouble(double value, std::string& out) {
  char buffer[32];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

std::string ToString(const AttrValue& value) {
  std::string out;
  AppendText(value, out);
  if (out.size() > kMaxErrorText) out = out.substr(0, kMaxErrorText) + "...";
  return out;
}

}  // namespace stoker
