#include "compiler/ir/text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace stoker {

std::string ListText(const std::vector<int>& values) {
  std::string text = "[";
  for (const int value : values) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  return text + "]";
}

std::string ListText(const std::vector<SymDim>& dims) {
  std::string text = "[";
  for (const SymDim& dim : dims) {
    if (text.size() > 1) text += ", ";
    text += dim.ToString();
  }
  return text + "]";
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

std::string AccessText(const Access& access) {
  std::string text(Name(access.dtype));
  text += " @" + std::to_string(access.operand) + "[" + access.index.ToString();
  for (std::size_t i = 0; i < access.indirect.size(); ++i) {
    text += " + " + access.indirect[i].ToString() + "*x" + std::to_string(i);
  }
  return text + "]";
}

std::string OperandsText(const std::vector<Operand>& operands) {
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    text += "  operand " + std::to_string(i) + ": " + std::string(Name(operand.dtype));
    if (operand.written) text += " written";
    if (operand.may_read_past_end) text += " slack";
    text += "\n";
  }
  return text;
}

std::string Indent(const std::string& lines, int spaces) {
  const std::string margin(static_cast<std::size_t>(spaces), ' ');
  std::string text;
  std::size_t begin = 0;
  while (begin < lines.size()) {
    const std::size_t end = lines.find('\n', begin);
    text += margin + lines.substr(begin, end - begin) + "\n";
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return text;
}

}  // namespace stoker
