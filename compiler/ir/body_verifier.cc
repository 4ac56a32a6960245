#include "compiler/ir/body_verifier.h"

#include <string>

#include "compiler/ir/text.h"
#include "protocol/graph/op_table.h"

namespace stoker {
namespace {

Error Bad(const std::string& message) { return InvalidArgument(message); }

// The dtypes of one pointwise instruction.
Status VerifyPointwise(const BodyInstr& instr, const std::vector<DType>& args) {
  const OpKind kind = instr.pointwise;
  const OpRow& row = RowOf(kind);
  const std::string name(row.name);
  if (!IsPointwise(kind)) return Bad(name + " is not a pointwise operation.");
  if (args.size() != static_cast<std::size_t>(row.operands)) {
    return Bad(name + " has " + std::to_string(args.size()) + " arguments.");
  }
  const DType dtype = args.back();
  if (!Contains(row.dtypes, dtype)) return Bad(name + " of " + std::string(Name(dtype)) + ".");
  const std::size_t first = kind == OpKind::kSelect ? 1 : 0;
  for (std::size_t i = first; i < args.size(); ++i) {
    if (args[i] != dtype) return Bad("arguments of " + name + " differ in dtype.");
  }
  if (kind == OpKind::kSelect && args[0] != DType::kBool) return Bad("select by no bool.");
  const DType result = row.result == ResultRule::kBool     ? DType::kBool
                       : row.result == ResultRule::kHinted ? instr.dtype
                                                           : dtype;
  if (result != instr.dtype) return Bad("result of " + name + " has the wrong dtype.");
  return Ok();
}

Status VerifyInstr(const Body& body, std::size_t at, const BodyContext& context) {
  const BodyInstr& instr = body.instrs[at];
  if (instr.dtype == DType::kF16 || instr.dtype == DType::kBF16) {
    return Bad("bodies compute 16-bit floats in f32.");
  }
  std::vector<DType> args;
  for (const std::uint32_t arg : instr.args) {
    if (arg >= at) return Bad("argument %" + std::to_string(arg) + " is not defined before.");
    args.push_back(body.instrs[arg].dtype);
  }
  switch (instr.op) {
    case BodyOp::kInput: {
      const std::optional<DType> dtype = context.input(instr.input);
      if (!dtype) return Bad("there is no input " + std::to_string(instr.input) + " here.");
      if (*dtype != instr.dtype) return Bad("input has dtype " + std::string(Name(*dtype)) + ".");
      return Ok();
    }
    case BodyOp::kConstant:
      return Ok();
    case BodyOp::kIndex:
      if (instr.dim < 0 || instr.dim >= context.num_dims) return Bad("index of a dim that is not.");
      if (instr.dtype != DType::kI64) return Bad("indices are i64.");
      return Ok();
    case BodyOp::kSize:
      if (instr.dtype != DType::kI64) return Bad("sizes are i64.");
      return Ok();
    case BodyOp::kLoad: {
      STOKER_RETURN_IF_ERROR(VerifyAccess(instr.access, context.num_dims, *context.operands));
      if (instr.dtype != ComputeType(instr.access.dtype)) return Bad("load changes the dtype.");
      const std::size_t indirect = instr.access.indirect.size();
      if (args.size() != indirect + (instr.has_predicate ? 1 : 0)) {
        return Bad("load has " + std::to_string(args.size()) + " arguments.");
      }
      for (std::size_t i = 0; i < indirect; ++i) {
        if (args[i] != DType::kI64) return Bad("indirect indices are i64.");
      }
      if (instr.has_predicate && args.back() != DType::kBool) return Bad("predicates are bool.");
      return Ok();
    }
    case BodyOp::kPointwise:
      return VerifyPointwise(instr, args);
  }
  return Bad("unknown kind of instruction.");
}

}  // namespace

Status VerifyAccess(const Access& access, int num_dims, const std::vector<Operand>& operands) {
  if (access.operand >= operands.size()) {
    return Bad("access to operand " + std::to_string(access.operand) + " of " +
               std::to_string(operands.size()) + ".");
  }
  if (operands[access.operand].dtype != access.dtype) {
    return Bad("access to operand " + std::to_string(access.operand) + " as " +
               std::string(Name(access.dtype)) + ".");
  }
  for (const IndexTerm& term : access.index.terms) {
    if (term.dim < 0 || term.dim >= num_dims) {
      return Bad("access over dim " + std::to_string(term.dim) + " of " + std::to_string(num_dims) +
                 ".");
    }
    if (term.divisor < 1 || term.modulus < 0) return Bad("index term divides by less than 1.");
  }
  return Ok();
}

Status VerifyBody(const Body& body, const BodyContext& context) {
  for (std::size_t i = 0; i < body.instrs.size(); ++i) {
    if (auto status = VerifyInstr(body, i, context); !status.ok()) {
      return status.error().WithContext("instruction %" + std::to_string(i));
    }
  }
  return Ok();
}

Status VerifyStores(const std::vector<Store>& stores, const Body& body,
                    const BodyContext& context) {
  for (const Store& store : stores) {
    const std::string what = ToString(store);
    if (auto status = VerifyAccess(store.access, context.num_dims, *context.operands);
        !status.ok()) {
      return status.error().WithContext(what);
    }
    if (!(*context.operands)[store.access.operand].written) {
      return Bad(what + ": the operand is not marked as written.");
    }
    if (store.value >= body.instrs.size()) return Bad(what + ": there is no such value.");
    if (body.instrs[store.value].dtype != ComputeType(store.access.dtype)) {
      return Bad(what + ": the value is " + std::string(Name(body.instrs[store.value].dtype)) +
                 ".");
    }
    if (!store.access.indirect.empty()) return Bad(what + ": stores are direct.");
  }
  return Ok();
}

}  // namespace stoker
