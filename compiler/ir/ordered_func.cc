#include "compiler/ir/ordered_func.h"

#include <algorithm>

#include "compiler/ir/body_verifier.h"
#include "compiler/ir/text.h"

namespace stoker {
namespace {

// An access of operand `operand` over `num_dims` dims, without data-dependent parts.
Status VerifyDirect(const Access& access, std::uint32_t operand, std::size_t num_dims,
                    const char* what) {
  const auto verify = [&]() -> Status {
    if (access.operand != operand) {
      return InvalidArgument("is operand " + std::to_string(access.operand) + ", not " +
                             std::to_string(operand) + ".");
    }
    if (!access.indirect.empty()) return InvalidArgument("has data-dependent indices.");
    const std::vector<Operand> operands(operand + 1, Operand{access.dtype, true, false});
    return VerifyAccess(access, static_cast<int>(num_dims), operands);
  };
  Status status = verify();
  if (!status.ok()) return status.error().WithContext(what);
  return status;
}

}  // namespace

bool KeepsApart(const ScatterFunc& func, int dim) {
  return func.output.index.CoefficientOf(dim) != SymDim(0) &&
         std::ranges::find(func.window_dims, dim) == func.window_dims.end() &&
         std::ranges::none_of(func.indices, [&](const Access& index) {
           return index.index.CoefficientOf(dim) != SymDim(0);
         });
}

std::uint32_t NumOperands(const ScanFunc&) { return 2; }

std::uint32_t NumOperands(const SortFunc& func) {
  return static_cast<std::uint32_t>(1 + func.values.size() + func.outputs.size() +
                                    (SortWorkElements(func) ? 1 : 0));
}

std::uint32_t NumOperands(const ScatterFunc&) { return 3; }

std::string ToString(const ScanFunc& func) {
  std::string text = "scan outer " + ListText(func.outer) + " extent " + func.extent.ToString() +
                     " " + std::string(stoker::Name(func.kind)) + " " +
                     std::string(stoker::Name(func.dtype));
  if (func.exclusive) text += " exclusive";
  return text + " {\n  input " + AccessText(func.input) + "\n  output " + AccessText(func.output) +
         "\n}\n";
}

DType ScanType(Combine kind, DType element) {
  return IsFloat(element) && Rounds(kind) ? DType::kF64 : ComputeType(element);
}

Status Verify(const ScanFunc& func) {
  if (!Has(OpKind::kCumulative, func.kind)) {
    return InvalidArgument("scan: kind " + std::string(stoker::Name(func.kind)) + ".");
  }
  const std::size_t num_dims = func.outer.size() + 1;
  STOKER_RETURN_IF_ERROR(VerifyDirect(func.input, 0, num_dims, "scan: input"));
  STOKER_RETURN_IF_ERROR(VerifyDirect(func.output, 1, num_dims, "scan: output"));
  if (ScanType(func.kind, func.input.dtype) != func.dtype ||
      ScanType(func.kind, func.output.dtype) != func.dtype) {
    return InvalidArgument("scan: the accumulator is none of its input and its output.");
  }
  return Ok();
}

std::optional<SymDim> SortWorkElements(const SortFunc& func) {
  const bool by_insertion = func.keep >= 0 && func.keep <= kMaxInsertedResults;
  if (func.extent.IsConstant() || by_insertion) return std::nullopt;
  // Two buffers of keys; keys of 32 bits have their positions beside them in the same word.
  SymDim elements = func.extent * (SizeInBytes(func.key.dtype) <= 4 ? 2 : 4);
  for (const SymDim& dim : func.outer) elements = elements * dim;
  return elements;
}

std::string ToString(const SortFunc& func) {
  std::string text = "sort outer " + ListText(func.outer) + " extent " + func.extent.ToString();
  if (func.keep >= 0) text += " keep " + std::to_string(func.keep);
  text += func.descending ? " descending" : " ascending";
  if (func.output_index) text += " index";
  text += " {\n  key " + AccessText(func.key) + "\n";
  for (const Access& value : func.values) text += "  value " + AccessText(value) + "\n";
  for (const Access& output : func.outputs) text += "  output " + AccessText(output) + "\n";
  return text + "}\n";
}

Status Verify(const SortFunc& func) {
  const std::size_t num_dims = func.outer.size() + 1;
  STOKER_RETURN_IF_ERROR(VerifyDirect(func.key, 0, num_dims, "sort: key"));
  std::uint32_t operand = 1;
  for (const Access& value : func.values) {
    STOKER_RETURN_IF_ERROR(VerifyDirect(value, operand++, num_dims, "sort: value"));
  }
  const std::size_t num_outputs = 1 + func.values.size() + (func.output_index ? 1 : 0);
  if (func.outputs.size() != num_outputs) {
    return InvalidArgument("sort: " + std::to_string(func.outputs.size()) + " outputs, not " +
                           std::to_string(num_outputs) + ".");
  }
  for (std::size_t i = 0; i < num_outputs; ++i) {
    const Access& output = func.outputs[i];
    STOKER_RETURN_IF_ERROR(VerifyDirect(output, operand++, num_dims, "sort: output"));
    const DType dtype = i == 0                    ? func.key.dtype
                        : i <= func.values.size() ? func.values[i - 1].dtype
                                                  : DType::kI64;
    if (output.dtype != dtype) {
      return InvalidArgument("sort: output " + std::to_string(i) + " has dtype " +
                             std::string(stoker::Name(output.dtype)) + ".");
    }
  }
  return Ok();
}

std::string ToString(const ScatterFunc& func) {
  std::string text = "scatter dims " + ListText(func.dims) + " " + std::string(Name(func.kind)) +
                     " " + std::string(stoker::Name(func.dtype)) + " {\n  update " +
                     AccessText(func.update) + "\n";
  for (std::size_t i = 0; i < func.indices.size(); ++i) {
    text += "  index " + AccessText(func.indices[i]) + " limit " + func.index_limits[i].ToString() +
            " stride " + func.index_strides[i].ToString();
    if (func.window_dims[i] >= 0) text += " window i" + std::to_string(func.window_dims[i]);
    text += "\n";
  }
  return text + "  output " + AccessText(func.output) + "\n}\n";
}

Status Verify(const ScatterFunc& func) {
  const std::size_t num_indices = func.indices.size();
  if (func.index_limits.size() != num_indices || func.window_dims.size() != num_indices ||
      func.index_strides.size() != num_indices) {
    return InvalidArgument("scatter: limits, windows or strides are missing.");
  }
  if (!Has(OpKind::kScatter, func.kind)) {
    return InvalidArgument("scatter: kind " + std::string(Name(func.kind)) + ".");
  }
  const std::size_t num_dims = func.dims.size();
  STOKER_RETURN_IF_ERROR(VerifyDirect(func.output, 0, num_dims, "scatter: output"));
  STOKER_RETURN_IF_ERROR(VerifyDirect(func.update, 1, num_dims, "scatter: update"));
  for (const int dim : func.window_dims) {
    if (dim >= static_cast<int>(num_dims)) {
      return InvalidArgument("scatter: window dim " + std::to_string(dim) + " of " +
                             std::to_string(num_dims) + ".");
    }
    for (const Access& index : func.indices) {
      if (dim < 0 || index.index.CoefficientOf(dim) == SymDim(0)) continue;
      return InvalidArgument("scatter: an index varies over window dim " + std::to_string(dim) +
                             ".");
    }
  }
  for (const Access& index : func.indices) {
    STOKER_RETURN_IF_ERROR(VerifyDirect(index, 2, num_dims, "scatter: index"));
    if (index.dtype != DType::kI64 && index.dtype != DType::kI32) {
      return InvalidArgument("scatter: index of dtype " + std::string(stoker::Name(index.dtype)) +
                             ".");
    }
  }
  if (func.update.dtype != func.output.dtype || ComputeType(func.output.dtype) != func.dtype) {
    return InvalidArgument("scatter: dtypes of update and output differ.");
  }
  return Ok();
}

}  // namespace stoker
