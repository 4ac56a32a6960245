#include "compiler/ir/contraction_func.h"

#include "compiler/ir/body_verifier.h"
#include "compiler/ir/text.h"

namespace stoker {
namespace {

std::string LayoutText(const PackedLayout& layout) {
  return std::string(Name(layout.dtype)) + " packed nr=" + std::to_string(layout.nr) +
         " kr=" + std::to_string(layout.kr) + " k_multiple=" + std::to_string(layout.k_multiple);
}

std::string NestText(const char* name, const std::vector<ContractionDim>& dims) {
  std::string text = std::string("  ") + name + " [";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i].extent.ToString() + " stride " + dims[i].lhs_stride.ToString();
  }
  return text + "]\n";
}

std::string HaloText(const Halo& halo) {
  return "  zero unless 0 <= m" + std::to_string(halo.m) + " * " + std::to_string(halo.stride) +
         " + k" + std::to_string(halo.k) + " * " + std::to_string(halo.dilation) + " - " +
         std::to_string(halo.low) + " < " + std::to_string(halo.size) + "\n";
}

Status VerifyHalo(const ContractionFunc& func, const Halo& halo) {
  const bool has_dims = halo.m < func.m.size() && halo.k < func.k.size() &&
                        func.m[halo.m].extent.IsConstant() && func.k[halo.k].extent.IsConstant();
  if (has_dims && halo.stride > 0 && halo.dilation > 0 && halo.size >= 0) return Ok();
  return InvalidArgument("a halo is not of constant dims:" + HaloText(halo));
}

Status VerifyLayout(const PackedLayout& layout) {
  if (layout.nr < 1 || layout.kr < 1 || layout.k_multiple < 1 ||
      layout.k_multiple % layout.kr != 0) {
    return InvalidArgument("packed layout (" + LayoutText(layout) + ") is not a layout.");
  }
  return Ok();
}

std::vector<SymDim> EpilogueDims(const ContractionFunc& func) {
  std::vector<SymDim> dims;
  for (const ContractionBatchDim& dim : func.batch) dims.push_back(dim.extent);
  for (const ContractionDim& dim : func.m) dims.push_back(dim.extent);
  dims.push_back(func.n);
  return dims;
}

}  // namespace

bool IsInParts(const ContractionFunc& func) {
  return func.rhs.dtype == DType::kF32 && func.rhs.kr == 2;
}

std::string ToString(const ContractionFunc& func) {
  std::string text = "contraction {\n  batch [";
  for (std::size_t i = 0; i < func.batch.size(); ++i) {
    const ContractionBatchDim& dim = func.batch[i];
    if (i > 0) text += ", ";
    text += dim.extent.ToString() + " stride " + dim.lhs_stride.ToString();
    if (!dim.rhs_has) text += " shared";
  }
  text += "]\n" + NestText("m", func.m) + NestText("k", func.k);
  for (const Halo& halo : func.halos) text += HaloText(halo);
  text += "  n " + func.n.ToString() + "\n";
  text += "  lhs " + std::string(Name(func.lhs_dtype)) + " offset " + func.lhs_offset.ToString() +
          "\n  rhs " + LayoutText(func.rhs) +
          (IsInParts(func) ? " in " + std::to_string(func.parts) + " bf16 parts" : "") +
          "\n  accumulator " + std::string(Name(func.accumulator)) + "\n" +
          OperandsText(func.operands) + "  epilogue {\n" + Indent(ToString(func.epilogue), 4);
  for (const Store& store : func.stores) text += "    " + ToString(store) + "\n";
  return text + "  }\n}\n";
}

Status Verify(const ContractionFunc& func) {
  const auto verify = [&]() -> Status {
    STOKER_RETURN_IF_ERROR(VerifyLayout(func.rhs));
    if (func.parts != 2 && func.parts != 3) {
      return InvalidArgument("an f32 of " + std::to_string(func.parts) + " bf16 parts.");
    }
    if (func.m.empty() || func.k.empty()) return InvalidArgument("m or k has no dim.");
    if (func.k.back().lhs_stride != SymDim(1)) {
      return InvalidArgument("the last k dim has stride " + func.k.back().lhs_stride.ToString() +
                             ", not 1.");
    }
    for (const Halo& halo : func.halos) STOKER_RETURN_IF_ERROR(VerifyHalo(func, halo));
    if (func.operands.size() < 2 || func.operands[0].dtype != func.lhs_dtype ||
        func.operands[1].dtype != func.rhs.dtype) {
      return InvalidArgument("operands 0 and 1 are not the matrices.");
    }
    BodyContext context;
    context.num_dims = static_cast<int>(EpilogueDims(func).size());
    context.operands = &func.operands;
    context.input = [&](std::uint32_t id) -> std::optional<DType> {
      if (id != 0) return std::nullopt;
      return func.accumulator;
    };
    STOKER_RETURN_IF_ERROR(VerifyBody(func.epilogue, context));
    if (func.stores.empty()) return InvalidArgument("nothing is stored.");
    return VerifyStores(func.stores, func.epilogue, context);
  };
  Status status = verify();
  if (!status.ok()) return status.error().WithContext("contraction");
  return status;
}

std::string ToString(const PackFunc& func) {
  std::string text = "pack {\n  batch " + ListText(func.batch) + "\n  k " + ListText(func.k) +
                     "\n  n " + func.n.ToString() + "\n  source " + AccessText(func.source) +
                     "\n  layout " + LayoutText(func.layout) + "\n";
  if (func.has_scale) text += "  scale " + AccessText(func.scale) + "\n";
  return text + "}\n";
}

Status Verify(const PackFunc& func) {
  const auto verify = [&]() -> Status {
    STOKER_RETURN_IF_ERROR(VerifyLayout(func.layout));
    if (func.k.empty()) return InvalidArgument("k has no dim.");
    const int num_dims = static_cast<int>(func.batch.size() + func.k.size() + 1);
    std::vector<Operand> operands = {{func.source.dtype, false, false},
                                     {func.layout.dtype, true, false}};
    if (func.source.operand != 0) return InvalidArgument("the source is not operand 0.");
    STOKER_RETURN_IF_ERROR(VerifyAccess(func.source, num_dims, operands));
    if (!func.has_scale) return Ok();
    if (func.scale.operand != 2) return InvalidArgument("the scale is not operand 2.");
    operands.push_back({func.scale.dtype, false, false});
    return VerifyAccess(func.scale, num_dims, operands);
  };
  Status status = verify();
  if (!status.ok()) return status.error().WithContext("pack");
  return status;
}

SymDim PanelElements(const PackedLayout& layout, const SymDim& k) {
  const SymDim padded_k = SymDim::CeilDiv(k, layout.k_multiple) * SymDim(layout.k_multiple);
  return SymDim::CeilDiv(padded_k, layout.kr) * SymDim(layout.nr * layout.kr);
}

SymDim PackedElements(const PackFunc& func) {
  SymDim batch = 1;
  for (const SymDim& dim : func.batch) batch = batch * dim;
  SymDim k = 1;
  for (const SymDim& dim : func.k) k = k * dim;
  return batch * SymDim::CeilDiv(func.n, func.layout.nr) * PanelElements(func.layout, k);
}

}  // namespace stoker
