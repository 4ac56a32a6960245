#include "protocol/guard/guard_set.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stoker {
namespace {

bool IsRowMajor(const InputView& input) {
  std::int64_t expected = 1;
  bool packed = true;
  for (std::size_t i = input.sizes.size(); i-- > 0;) {
    if (input.sizes[i] == 0) return true;  // Nothing is addressed.
    if (input.sizes[i] != 1 && input.strides[i] != expected) packed = false;
    expected *= input.sizes[i];
  }
  return packed;
}

std::optional<std::int64_t> SizeAt(std::span<const InputView> inputs, std::uint32_t input,
                                   std::int32_t dim) {
  if (input >= inputs.size() || dim < 0) return std::nullopt;
  const auto& sizes = inputs[input].sizes;
  const auto d = static_cast<std::size_t>(dim);
  if (d >= sizes.size()) return std::nullopt;
  return sizes[d];
}

std::string DTypeText(std::int64_t code) {
  if (code >= 0 && code <= UINT8_MAX) {
    if (const auto dtype = DTypeFromCode(static_cast<std::uint8_t>(code))) {
      return std::string(Name(*dtype));
    }
  }
  return "dtype code " + std::to_string(code);
}

std::string ListText(std::span<const std::int64_t> values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ",";
    out += std::to_string(values[i]);
  }
  return out + "]";
}

// What a failed guard saw. `value`: of its expression.
std::string FoundText(const Guard& guard, std::optional<std::int64_t> value,
                      std::span<const InputView> inputs) {
  if (guard.input >= inputs.size()) {
    return "the call has " + std::to_string(inputs.size()) + " inputs";
  }
  const InputView& input = inputs[guard.input];
  switch (guard.kind) {
    case GuardKind::kDType:
      return std::string(Name(input.dtype));
    case GuardKind::kRank:
      return std::to_string(input.sizes.size());
    case GuardKind::kContiguous:
      return "sizes " + ListText(input.sizes) + " strides " + ListText(input.strides);
    case GuardKind::kNotNegative:
      return value ? std::to_string(*value) : "no value";
    case GuardKind::kSizeEquals:
    case GuardKind::kSizeRange:
    case GuardKind::kSizeExpr:
    case GuardKind::kBindSymbol:
      break;
  }
  const auto size = SizeAt(inputs, guard.input, guard.dim);
  return size ? std::to_string(*size) : "rank " + std::to_string(input.sizes.size());
}

}  // namespace

std::optional<GuardKind> GuardKindFromCode(std::uint8_t code) {
  const auto kind = static_cast<GuardKind>(code);
  switch (kind) {
    case GuardKind::kDType:
    case GuardKind::kRank:
    case GuardKind::kSizeEquals:
    case GuardKind::kSizeRange:
    case GuardKind::kContiguous:
    case GuardKind::kSizeExpr:
    case GuardKind::kBindSymbol:
    case GuardKind::kNotNegative:
      return kind;
  }
  return std::nullopt;
}

std::string Guard::ToString() const {
  const std::string name = "input " + std::to_string(input);
  const std::string size = name + " size " + std::to_string(dim);
  switch (kind) {
    case GuardKind::kDType:
      return name + " dtype == " + DTypeText(value);
    case GuardKind::kRank:
      return name + " rank == " + std::to_string(value);
    case GuardKind::kSizeEquals:
      return size + " == " + std::to_string(value);
    case GuardKind::kSizeRange:
      return size + " in [" + std::to_string(value) + "," + std::to_string(limit) + "]";
    case GuardKind::kContiguous:
      return name + " is contiguous";
    case GuardKind::kSizeExpr:
      return size + " == " + expr.ToString();
    case GuardKind::kBindSymbol:
      return size + " binds s" + std::to_string(value);
    case GuardKind::kNotNegative:
      return expr.ToString() + " >= 0";
  }
  return "unknown guard";
}

GuardSet::GuardSet(std::vector<Guard> guards) : guards_(std::move(guards)) {
  lone_symbols_.resize(guards_.size(), -1);
  for (std::size_t i = 0; i < guards_.size(); ++i) {
    const Guard& guard = guards_[i];
    if (guard.kind == GuardKind::kBindSymbol) {
      const auto symbol = static_cast<std::uint32_t>(guard.value);
      if (FindBinding(symbol) != nullptr) continue;
      const auto at = std::partition_point(bindings_.begin(), bindings_.end(),
                                           [&](const Binding& b) { return b.symbol < symbol; });
      bindings_.insert(at, Binding{symbol, guard.input, guard.dim});
    } else {
      const std::set<std::uint32_t> symbols = guard.expr.Symbols();
      if (symbols.size() == 1 && guard.expr == SymDim::Symbol(*symbols.begin())) {
        lone_symbols_[i] = *symbols.begin();
      }
    }
  }
}

const GuardSet::Binding* GuardSet::FindBinding(std::uint32_t symbol) const {
  const auto at = std::partition_point(bindings_.begin(), bindings_.end(),
                                       [&](const Binding& b) { return b.symbol < symbol; });
  return at != bindings_.end() && at->symbol == symbol ? &*at : nullptr;
}

std::optional<std::int64_t> GuardSet::SymbolValue(std::uint32_t symbol,
                                                  std::span<const InputView> inputs) const {
  const Binding* binding = FindBinding(symbol);
  if (binding == nullptr) return std::nullopt;
  return SizeAt(inputs, binding->input, binding->dim);
}

std::optional<std::int64_t> GuardSet::ValueOf(std::size_t index,
                                              std::span<const InputView> inputs) const {
  const SymDim& expr = guards_[index].expr;
  if (expr.IsConstant()) return expr.constant();
  if (lone_symbols_[index] >= 0) {
    return SymbolValue(static_cast<std::uint32_t>(lone_symbols_[index]), inputs);
  }
  SymBindings values;
  for (const std::uint32_t symbol : expr.Symbols()) {
    const auto value = SymbolValue(symbol, inputs);
    if (!value) return std::nullopt;
    values.emplace(symbol, *value);
  }
  const Result<std::int64_t> value = expr.Evaluate(values);
  if (!value.ok()) return std::nullopt;
  return *value;
}

bool GuardSet::GuardHolds(std::size_t index, std::span<const InputView> inputs) const {
  const Guard& guard = guards_[index];
  if (guard.input >= inputs.size()) return false;
  const InputView& input = inputs[guard.input];
  switch (guard.kind) {
    case GuardKind::kDType:
      return static_cast<std::int64_t>(input.dtype) == guard.value;
    case GuardKind::kRank:
      return static_cast<std::int64_t>(input.sizes.size()) == guard.value;
    case GuardKind::kContiguous:
      return IsRowMajor(input);
    case GuardKind::kNotNegative:
      return ValueOf(index, inputs).value_or(-1) >= 0;
    case GuardKind::kSizeEquals:
    case GuardKind::kSizeRange:
    case GuardKind::kSizeExpr:
    case GuardKind::kBindSymbol:
      break;
  }
  const auto size = SizeAt(inputs, guard.input, guard.dim);
  if (!size) return false;
  switch (guard.kind) {
    case GuardKind::kSizeEquals:
      return *size == guard.value;
    case GuardKind::kSizeRange:
      return *size >= guard.value && *size <= guard.limit;
    case GuardKind::kSizeExpr:
      return size == ValueOf(index, inputs);
    case GuardKind::kBindSymbol:
    case GuardKind::kDType:
    case GuardKind::kRank:
    case GuardKind::kContiguous:
    case GuardKind::kNotNegative:
      return true;
  }
  return false;
}

bool GuardSet::Holds(std::span<const InputView> inputs) const {
  for (std::size_t i = 0; i < guards_.size(); ++i) {
    if (!GuardHolds(i, inputs)) return false;
  }
  return true;
}

std::optional<std::string> GuardSet::Explain(std::span<const InputView> inputs) const {
  for (std::size_t i = 0; i < guards_.size(); ++i) {
    if (!GuardHolds(i, inputs)) {
      return guards_[i].ToString() + ": found " +
             FoundText(guards_[i], ValueOf(i, inputs), inputs) + ".";
    }
  }
  return std::nullopt;
}

SymBindings GuardSet::Bind(std::span<const InputView> inputs) const {
  SymBindings values;
  for (const Binding& binding : bindings_) {
    if (const auto size = SizeAt(inputs, binding.input, binding.dim)) {
      values.emplace(binding.symbol, *size);
    }
  }
  return values;
}

}  // namespace stoker
