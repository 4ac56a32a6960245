#include "client/core/symbol_facts.h"

#include <charconv>
#include <string>

namespace stoker {
namespace {

// The text before the next `separator`, which is taken away from `rest`.
std::string_view Cut(std::string_view* rest, char separator) {
  const std::size_t at = rest->find(separator);
  const std::string_view head = rest->substr(0, at);
  rest->remove_prefix(at == std::string_view::npos ? rest->size() : at + 1);
  return head;
}

template <typename T>
Result<T> Number(std::string_view text, std::string_view what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("'" + std::string(text) + "' in symbol facts is no " +
                           std::string(what) + ".");
  }
  return value;
}

}  // namespace

Result<ShapeSignature> ParseSymbolFacts(const Graph& graph, std::string_view text) {
  ShapeSignature signature;
  signature.symbols.resize(graph.num_symbols());
  for (std::uint32_t i = 0; i < graph.num_symbols(); ++i) signature.symbols[i].symbol = i;
  while (!text.empty()) {
    std::string_view facts = Cut(&text, ';');
    const std::string_view name = Cut(&facts, ':');
    if (!name.starts_with('s')) {
      return InvalidArgument("'" + std::string(name) + "' in symbol facts is no symbol like s0.");
    }
    STOKER_TRY(const auto symbol, Number<std::uint32_t>(name.substr(1), "symbol"));
    if (symbol >= graph.num_symbols()) {
      return InvalidArgument("Symbol s" + std::to_string(symbol) +
                             " does not occur: the graph has " +
                             std::to_string(graph.num_symbols()) + " symbols.");
    }
    SymbolFact& fact = signature.symbols[symbol];
    while (!facts.empty()) {
      std::string_view value = Cut(&facts, ',');
      const std::string_view key = Cut(&value, '=');
      STOKER_TRY(const auto number, Number<std::int64_t>(value, "number"));
      if (key == "min") {
        fact.min = number;
      } else if (key == "max") {
        fact.max = number;
      } else if (key == "div") {
        fact.divisible_by = number;
      } else if (key == "hint") {
        fact.hint = number;
      } else {
        return InvalidArgument("Symbol fact '" + std::string(key) +
                               "' is none of min, max, div, hint.");
      }
    }
  }
  return signature;
}

}  // namespace stoker
