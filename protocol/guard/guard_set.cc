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

// What a failed guard saw.
std::string FoundText(const Guard& guard, std::span<const InputView> inputs) {
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
    case GuardKind::kAligned:
      return "remainder " + std::to_string(guard.value > 0
                                               ? reinterpret_cast<std::uintptr_t>(input.data) %
                                                     static_cast<std::uint64_t>(guard.value)
                                               : 0);
    case GuardKind::kSizeEquals:
    case GuardKind::kSizeRange:
    case GuardKind::kDivisible:
    case GuardKind::kSizeExpr:
    case GuardKind::kBindSymbol:
      break;
  }
  const auto size = SizeAt(inputs, guard.input, guard.dim);
  return size ? std::to_string(*size) : "rank " + std::to_string(input.sizes.size());
}

}  // namespace

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
    case GuardKind::kDivisible:
      return size + " % " + std::to_string(value) + " == 0";
    case GuardKind::kContiguous:
      return name + " is contiguous";
    case GuardKind::kAligned:
      return name + " data % " + std::to_string(value) + " == 0";
    case GuardKind::kSizeExpr:
      return size + " == " + expr.ToString();
    case GuardKind::kBindSymbol:
      return size + " binds s" + std::to_string(value);
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
    } else if (guard.kind == GuardKind::kSizeExpr) {
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

std::optional<std::int64_t> GuardSet::Expected(std::size_t index,
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
  const Result<std::int64_t> expected = expr.Evaluate(values);
  if (!expected.ok()) return std::nullopt;
  return *expected;
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
    case GuardKind::kAligned:
      return guard.value > 0 && reinterpret_cast<std::uintptr_t>(input.data) %
                                        static_cast<std::uint64_t>(guard.value) ==
                                    0;
    case GuardKind::kSizeEquals:
    case GuardKind::kSizeRange:
    case GuardKind::kDivisible:
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
    case GuardKind::kDivisible:
      return guard.value > 0 && *size % guard.value == 0;
    case GuardKind::kSizeExpr:
      return size == Expected(index, inputs);
    case GuardKind::kBindSymbol:
    case GuardKind::kDType:
    case GuardKind::kRank:
    case GuardKind::kContiguous:
    case GuardKind::kAligned:
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
      return guards_[i].ToString() + ": found " + FoundText(guards_[i], inputs) + ".";
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
