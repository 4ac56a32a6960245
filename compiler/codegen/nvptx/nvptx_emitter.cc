#include "compiler/codegen/nvptx/nvptx_emitter.h"

#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <limits>
#include <string>

#include "protocol/artifact/cuda_kernel_abi.h"

namespace stoker::codegen {
namespace {

constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kSharedSpace = 3;
constexpr std::uint64_t kSharedAlignment = 16;
constexpr std::int64_t kLanes = 32;  // Of a warp.

llvm::Function* KernelFunction(llvm::Module& module, const GpuMachine& machine,
                               const CudaSchedule& schedule, std::uint32_t num_operands) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> parameters(num_operands, llvm::PointerType::get(context, 0));
  parameters.resize(num_operands + schedule.dims.size(), llvm::Type::getInt64Ty(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  llvm::Function* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr("target-cpu", machine.arch);
  // A launch with another block fails, rather than to compute something else.
  function->addFnAttr("nvvm.reqntid", std::to_string(schedule.threads) + ",1,1");
  function->addFnAttr("nvvm.minctasm", std::to_string(schedule.blocks_per_sm));
  function->addFnAttr("no-builtins");
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

// Of what lies at a multiple of its size from the start of shared memory.
llvm::Align SharedAlign(const llvm::Type* type) {
  const auto bytes = static_cast<std::uint64_t>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
  return llvm::Align(std::min<std::uint64_t>(bytes, kSharedAlignment));
}

// Do loads stay in registers until they are computed with, rather than wait in turn for a loop?
bool KeepsLoads(const CudaSchedule& schedule) {
  const auto* rows = std::get_if<RowSchedule>(&schedule.how);
  return rows != nullptr && rows->kept;
}

}  // namespace

NvptxEmitter::NvptxEmitter(llvm::Module& module, const GpuMachine& machine,
                           const CudaSchedule& schedule, std::uint32_t num_operands)
    : KernelEmitter(KernelFunction(module, machine, schedule, num_operands), schedule.dims,
                    num_operands),
      num_operands_(num_operands),
      threads_(static_cast<std::uint64_t>(schedule.threads)),
      access_bytes_(machine.blocks.access_bytes),
      keeps_loads_(KeepsLoads(schedule)) {}

llvm::Value* NvptxEmitter::ThreadIndex() {
  llvm::CallInst* index = b().CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  index->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, threads_)));
  return b().CreateZExt(index, b().getInt64Ty());
}

llvm::Value* NvptxEmitter::BlockIndex() {
  return b().CreateZExt(b().CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}),
                        b().getInt64Ty());
}

llvm::Value* NvptxEmitter::BlockCount() {
  return b().CreateZExt(b().CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, {}),
                        b().getInt64Ty());
}

Values NvptxEmitter::Unflatten(llvm::Value* flat, llvm::ArrayRef<llvm::Value*> extents) {
  constexpr std::int64_t kMaxNarrow = std::numeric_limits<std::int32_t>::max();
  std::int64_t points = 1;
  for (llvm::Value* extent : extents) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(extent);
    const std::int64_t size = constant == nullptr ? kMaxNarrow + 1 : constant->getSExtValue();
    points = size > kMaxNarrow ? kMaxNarrow + 1 : points * size;
    if (points > kMaxNarrow) return KernelEmitter::Unflatten(flat, extents);
  }
  llvm::Value* rest = b().CreateTrunc(flat, b().getInt32Ty());
  Values indices(extents.size(), nullptr);
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (i == 0) {
      indices[i] = extents.size() == 1 ? flat : b().CreateZExt(rest, b().getInt64Ty());
      break;
    }
    llvm::Value* extent = b().CreateTrunc(extents[i], b().getInt32Ty());
    indices[i] = b().CreateZExt(b().CreateURem(rest, extent), b().getInt64Ty());
    rest = b().CreateUDiv(rest, extent);
  }
  return indices;
}

void NvptxEmitter::ForEitherAlignment(const std::vector<std::uint32_t>& operands,
                                      llvm::function_ref<void()> body) {
  if (operands.empty()) {
    body();
    return;
  }
  llvm::Value* bits = I64(0);
  for (const std::uint32_t operand : operands) {
    bits = b().CreateOr(bits, b().CreatePtrToInt(Buffer(operand), b().getInt64Ty()));
  }
  llvm::Value* odd = b().CreateAnd(bits, I64(access_bytes_ - 1));
  llvm::Value* aligned = b().CreateICmpEQ(odd, I64(0));
  is_aligned_ = true;
  If(aligned, body);
  is_aligned_ = false;
  If(b().CreateNot(aligned), body);
}

void NvptxEmitter::Barrier() {
  CallIntrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", {b().getInt32(0)});
}

void NvptxEmitter::Barrier(llvm::Value* team, std::int64_t threads) {
  // The first barrier is the block's.
  llvm::Value* number = b().CreateAdd(b().CreateTrunc(team, b().getInt32Ty()), b().getInt32(1));
  CallIntrinsic("llvm.nvvm.barrier.cta.sync.aligned.count",
                {number, b().getInt32(static_cast<std::uint32_t>(threads))});
}

llvm::Value* NvptxEmitter::FromLane(llvm::Value* value, int mask) {
  llvm::Type* type = value->getType();
  llvm::Type* i32 = b().getInt32Ty();
  const auto shuffle = [&](llvm::Value* word) -> llvm::Value* {
    constexpr std::uint32_t kAllLanes = 0xffffffff;
    return CallIntrinsic("llvm.nvvm.shfl.sync.bfly.i32",
                         {b().getInt32(kAllLanes), word,
                          b().getInt32(static_cast<std::uint32_t>(mask)), b().getInt32(31)});
  };
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* as_int = b().getIntNTy(bits);
  llvm::Value* word = b().CreateBitCast(value, as_int);
  if (bits <= 32) {
    word = shuffle(b().CreateZExt(word, i32));
    return b().CreateBitCast(b().CreateTrunc(word, as_int), type);
  }
  llvm::Value* low = shuffle(b().CreateTrunc(word, i32));
  llvm::Value* high = shuffle(b().CreateTrunc(b().CreateLShr(word, 32), i32));
  word = b().CreateOr(b().CreateZExt(low, as_int),
                      b().CreateShl(b().CreateZExt(high, as_int), std::uint64_t{32}));
  return b().CreateBitCast(word, type);
}

// By what CUDA's assert() calls (CUDA C++ Programming Guide, assertion), which the driver has. One
// thread of a warp says it.
void NvptxEmitter::Require(llvm::Value* lanes, const std::string& message) {
  llvm::Type* pointer = b().getPtrTy();
  const llvm::FunctionCallee fail =
      module().getOrInsertFunction("__assertfail", b().getVoidTy(), pointer, pointer,
                                   b().getInt32Ty(), pointer, b().getInt64Ty());
  const auto text = [&](const std::string& characters) {
    llvm::Constant* global = b().CreateGlobalString(characters, "text", kGlobalSpace, &module());
    return b().CreateAddrSpaceCast(global, pointer);
  };
  llvm::Value* all =
      ReduceLanes(lanes, [&](llvm::Value* x, llvm::Value* y) { return b().CreateAnd(x, y); });
  If(b().CreateNot(all), [&] {
    llvm::Value* failing = CallIntrinsic("llvm.nvvm.activemask", {});
    llvm::Value* first = b().CreateBinaryIntrinsic(llvm::Intrinsic::cttz, failing, b().getTrue());
    llvm::Value* lane = b().CreateAnd(ThreadIndex(), I64(kLanes - 1));
    llvm::Value* is_first = b().CreateICmpEQ(b().CreateTrunc(lane, b().getInt32Ty()), first);
    If(is_first, [&] {
      b().CreateCall(
          fail, {text(message), text("stoker"), b().getInt32(0), text("a compiled graph"), I64(1)});
    });
  });
}

llvm::Value* NvptxEmitter::Shared(std::int64_t bytes) {
  llvm::Type* type = llvm::ArrayType::get(b().getInt8Ty(), static_cast<std::uint64_t>(bytes));
  auto* memory =
      new llvm::GlobalVariable(module(), type, /*isConstant=*/false,
                               llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
                               "shared", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(kSharedAlignment));
  return memory;
}

llvm::Value* NvptxEmitter::InTurn(llvm::Value* x, llvm::Value* turn) {
  llvm::Value* nothing = b().CreateAShr(turn, 31);
  return b().CreateZExt(b().CreateAdd(b().CreateTrunc(x, b().getInt32Ty()), nothing), x->getType());
}

llvm::Value* NvptxEmitter::DynamicShared(std::int64_t bytes) {
  if (dynamic_shared_ != nullptr) return dynamic_shared_;
  constexpr unsigned kConstantSpace = 4;
  llvm::Type* i32 = b().getInt32Ty();
  auto* size = new llvm::GlobalVariable(
      module(), i32, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantInt::get(i32, static_cast<std::uint64_t>(bytes)), kCudaSharedBytesSymbol,
      nullptr, llvm::GlobalValue::NotThreadLocal, kConstantSpace);
  size->setAlignment(llvm::Align(4));
  auto* memory = new llvm::GlobalVariable(module(), llvm::ArrayType::get(b().getInt8Ty(), 0),
                                          /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
                                          nullptr, "dynamic_shared", nullptr,
                                          llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(kSharedAlignment));
  dynamic_shared_ = memory;
  return dynamic_shared_;
}

void NvptxEmitter::CopyToShared(llvm::Value* to, llvm::Value* from, llvm::Value* condition) {
  llvm::Type* global = llvm::PointerType::get(b().getContext(), kGlobalSpace);
  llvm::Value* bytes = b().CreateSelect(condition, b().getInt32(16), b().getInt32(0));
  CallIntrinsic("llvm.nvvm.cp.async.cg.shared.global.16.s",
                {to, b().CreateAddrSpaceCast(from, global), bytes});
}

void NvptxEmitter::AwaitCopies() { CallIntrinsic("llvm.nvvm.cp.async.wait.all", {}); }

void NvptxEmitter::StoreShared(llvm::Value* base, llvm::Value* index, llvm::Value* value) {
  if (value->getType()->isIntOrIntVectorTy(1)) {
    value = b().CreateZExt(value, VectorOf(b().getInt8Ty(), WidthOf(value)));
  }
  llvm::Type* type = value->getType();
  b().CreateAlignedStore(value, b().CreateInBoundsGEP(type, base, index), SharedAlign(type));
}

llvm::Value* NvptxEmitter::LoadShared(llvm::Value* base, llvm::Value* index, llvm::Type* type) {
  const bool is_bool = type->isIntOrIntVectorTy(1);
  llvm::Type* stored = type;
  if (is_bool) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    stored = VectorOf(b().getInt8Ty(),
                      vector == nullptr ? 1 : static_cast<int>(vector->getNumElements()));
  }
  llvm::Value* value = b().CreateAlignedLoad(stored, b().CreateInBoundsGEP(stored, base, index),
                                             SharedAlign(stored));
  return is_bool ? b().CreateICmpNE(value, llvm::Constant::getNullValue(stored)) : value;
}

llvm::Value* NvptxEmitter::LoadBuffer(std::uint32_t operand) { return function()->getArg(operand); }

llvm::Value* NvptxEmitter::LoadDim(std::size_t slot) {
  return function()->getArg(num_operands_ + static_cast<unsigned>(slot));
}

// A thread has one lane, and lanes of threads gather by themselves.
bool NvptxEmitter::HasGather(DType) const { return false; }

llvm::Align NvptxEmitter::AlignOf(DType dtype, int width) const {
  const int element = SizeInBytes(dtype);
  return llvm::Align(
      static_cast<std::uint64_t>(is_aligned_ ? std::min(width * element, access_bytes_) : element));
}

// Branches: memory of a thread's own to stand in for the operand's would be slow.
llvm::Value* NvptxEmitter::LoadIf(llvm::Value* condition, llvm::Type* type, llvm::Value* pointer,
                                  llvm::Align align) {
  Values value = {llvm::Constant::getNullValue(type)};
  If(condition, value,
     [&](Values& loaded) { loaded[0] = b().CreateAlignedLoad(type, pointer, align); });
  return value[0];
}

void NvptxEmitter::StoreIf(llvm::Value* condition, llvm::Value* value, llvm::Value* pointer,
                           llvm::Align align) {
  If(condition, [&] { b().CreateAlignedStore(value, pointer, align); });
}

// Two of one register with an instruction each, where LLVM takes the upper one out first. ptxas
// takes all of them apart as soon as they are loaded: loops that wait for many would need twice the
// registers.
llvm::Value* NvptxEmitter::BitsOfBF16(llvm::Value* value) {
  const int width = WidthOf(value);
  if (width % 2 != 0 || !keeps_loads_) return KernelEmitter::BitsOfBF16(value);
  llvm::Type* pairs_type = VectorOf(b().getInt32Ty(), width / 2);
  llvm::Value* pairs = b().CreateBitCast(value, pairs_type);
  llvm::Value* lower = b().CreateShl(pairs, llvm::ConstantInt::get(pairs_type, 16));
  llvm::Value* upper = b().CreateAnd(pairs, llvm::ConstantInt::get(pairs_type, 0xffff0000));
  if (width == 2) {
    lower = b().CreateVectorSplat(1, lower);
    upper = b().CreateVectorSplat(1, upper);
  }
  llvm::SmallVector<int> order;
  for (int i = 0; i < width / 2; ++i) order.append({i, width / 2 + i});
  return b().CreateShuffleVector(lower, upper, order);
}

llvm::Value* NvptxEmitter::RoundToBF16InHardware(llvm::Value* value) {
  const int width = WidthOf(value);
  llvm::Value* rounded = b().CreateFPTrunc(value, VectorOf(b().getBFloatTy(), width));
  return b().CreateBitCast(rounded, VectorOf(b().getInt16Ty(), width));
}

// The upper one of two has the bits of an f32 once the lower one is 0: two at a time, and what is
// left over beside a 0.
llvm::Value* NvptxEmitter::RoundLikeBF16InHardware(llvm::Value* value) {
  const int width = WidthOf(value);
  llvm::Type* f32 = b().getFloatTy();
  const auto pair_of = [&](llvm::Value* upper, llvm::Value* lower) {
    return b().CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {upper, lower});
  };
  if (width == 1) {
    return b().CreateBitCast(pair_of(value, llvm::ConstantFP::get(f32, 0)), f32);
  }
  llvm::Value* result = llvm::PoisonValue::get(value->getType());
  for (int i = 0; i < width; i += 2) {
    const auto lane = [&](int number) {
      return b().CreateExtractElement(value, static_cast<std::uint64_t>(number));
    };
    const auto put = [&](llvm::Value* bits, int number) {
      result = b().CreateInsertElement(result, b().CreateBitCast(bits, f32),
                                       static_cast<std::uint64_t>(number));
    };
    llvm::Value* pair = b().CreateBitCast(pair_of(lane(i + 1), lane(i)), b().getInt32Ty());
    put(b().CreateShl(pair, 16), i);
    put(b().CreateAnd(pair, 0xffff0000), i + 1);
  }
  return result;
}

llvm::Value* NvptxEmitter::ScaleInHardware(llvm::Value*, llvm::Value*) { return nullptr; }

// max.NaN.f32 and min.NaN.f32; there are none of f64.
llvm::Value* NvptxEmitter::ExtremeInHardware(bool is_largest, llvm::Value* x, llvm::Value* y) {
  if (!x->getType()->getScalarType()->isFloatTy()) return nullptr;
  return b().CreateBinaryIntrinsic(is_largest ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum,
                                   x, y);
}

// PTX ISA, rsqrt.approx.f32: 2^-22.9 of the result, zeros and subnormal numbers too.
llvm::Value* NvptxEmitter::ReciprocalRootInHardware(llvm::Value* x) {
  return OfEachFloat(llvm::Intrinsic::nvvm_rsqrt_approx_f, x);
}

bool NvptxEmitter::HasExp2(llvm::Type* type) const { return type->getScalarType()->isFloatTy(); }

// As CUDA's own expf takes it, which is off by two units in the last place at most (CUDA C++
// Programming Guide, mathematical functions).
llvm::Value* NvptxEmitter::Exp2InHardware(llvm::Value* x) {
  return OfEachFloat(llvm::Intrinsic::nvvm_ex2_approx_ftz, x);
}

// PTX ISA, rcp.approx.ftz.f32: one unit in the last place.
llvm::Value* NvptxEmitter::ReciprocalInHardware(llvm::Value* x) {
  return OfEachFloat(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, x);
}

llvm::Value* NvptxEmitter::OfEachFloat(llvm::Intrinsic::ID intrinsic, llvm::Value* x) {
  if (!x->getType()->getScalarType()->isFloatTy()) return nullptr;
  const auto of_one = [&](llvm::Value* lane) {
    const bool is_overloaded = llvm::Intrinsic::isOverloaded(intrinsic);
    llvm::SmallVector<llvm::Type*, 1> types;
    if (is_overloaded) types.push_back(lane->getType());
    return b().CreateIntrinsic(intrinsic, types, {lane});
  };
  return OfEachLane(x, of_one);
}

llvm::Value* NvptxEmitter::OfEachLane(llvm::Value* x,
                                      llvm::function_ref<llvm::Value*(llvm::Value*)> of_one) {
  if (!x->getType()->isVectorTy()) return of_one(x);
  llvm::Value* result = llvm::PoisonValue::get(x->getType());
  for (int i = 0; i < WidthOf(x); ++i) {
    const auto lane = static_cast<std::uint64_t>(i);
    result = b().CreateInsertElement(result, of_one(b().CreateExtractElement(x, lane)), lane);
  }
  return result;
}

}  // namespace stoker::codegen
