#include "protocol/graph/tensor_type.h"

#include <algorithm>

namespace stoker {

bool Shape::IsStatic() const {
  return std::all_of(begin(), end(), [](const SymDim& dim) { return dim.IsConstant(); });
}

SymDim Shape::NumElements() const {
  SymDim product = 1;
  for (const SymDim& dim : dims_) product = product * dim;
  return product;
}

std::vector<std::int64_t> Shape::StaticDims() const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims_.size());
  for (const SymDim& dim : dims_) sizes.push_back(dim.constant());
  return sizes;
}

std::string Shape::ToString() const {
  std::string out = "[";
  for (const SymDim& dim : dims_) {
    if (out.size() > 1) out += ',';
    out += dim.ToString();
  }
  return out += ']';
}

std::string TensorType::ToString() const { return std::string(Name(dtype)) + shape.ToString(); }

Result<TensorType> TensorType::Parse(std::string_view text) {
  const std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || text.back() != ']') {
    return InvalidArgument("Type '" + std::string(text.substr(0, 80)) +
                           "' is not of the form dtype[dim,...].");
  }
  const std::optional<DType> dtype = ParseDType(text.substr(0, bracket));
  if (!dtype) {
    return InvalidArgument("Type '" + std::string(text.substr(0, 80)) + "' has no known dtype.");
  }
  TensorType type{*dtype, {}};
  text = text.substr(bracket + 1, text.size() - bracket - 2);
  std::vector<SymDim> dims;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; !text.empty() && i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '(') - (c == ')');
    if (c != ',' || (depth != 0 && i < text.size())) continue;
    if (dims.size() == kMaxRank) {
      return ResourceExhausted("A type has more than " + std::to_string(kMaxRank) + " dimensions.");
    }
    const std::string_view dim_text = text.substr(start, i - start);
    start = i + 1;
    std::int64_t constant = 0;
    if (!dim_text.empty() && dim_text.size() <= 18 &&
        std::all_of(dim_text.begin(), dim_text.end(),
                    [](char d) { return d >= '0' && d <= '9'; })) {
      for (const char d : dim_text) constant = constant * 10 + (d - '0');
      dims.emplace_back(constant);
      continue;
    }
    STOKER_TRY(SymDim dim, SymDim::Parse(dim_text));
    dims.push_back(std::move(dim));
  }
  type.shape = Shape(std::move(dims));
  return type;
}

}  // namespace stoker
