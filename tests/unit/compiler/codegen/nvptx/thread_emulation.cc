#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"

#include <dlfcn.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "compiler/codegen/nvptx/nvptx_kernel.h"
#include "compiler/codegen/x86/elf_image.h"
#include "compiler/codegen/x86/x86_target.h"
#include "protocol/artifact/cuda_kernel_abi.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

// ---- The threads of one block

constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::uint32_t kBarriers = 16;
constexpr std::size_t kPlaces = 32;  // Barriers or warps of a block, at most.

constexpr std::size_t kWarp = 32;

// What a thread waits for: that so many have come to a barrier of the block, or to what the threads
// of its warp give one another.
struct Wait {
  enum Kind { kNothing, kBarrier, kExchange, kDone } kind = kNothing;
  std::size_t place = 0;  // Number of the barrier or the warp.
  std::size_t threads = 0;
};
using Words = std::array<std::uint32_t, 6>;  // What a thread gives the others of its warp.

class Block {
 public:
  Block(int threads, std::int64_t blocks)
      : blocks_(static_cast<std::uint32_t>(blocks)), fibers_(static_cast<std::size_t>(threads)) {
    stacks_bytes_ = kStackBytes * fibers_.size();
    stacks_ = static_cast<char*>(mmap(nullptr, stacks_bytes_, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    STOKER_CHECK(stacks_ != MAP_FAILED);
  }
  ~Block() { munmap(stacks_, stacks_bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void Run(std::uint32_t number, std::function<void()> body) {
    number_ = number;
    body_ = std::move(body);
    current = this;
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      Fiber& fiber = fibers_[i];
      fiber.wait = {};
      fiber.copies.clear();
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks_ + i * kStackBytes;
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, &Block::Enter, 0);
    }
    while (RunThoseThatMay()) {
    }
    for (const Fiber& fiber : fibers_) STOKER_CHECK(fiber.wait.kind == Wait::kDone);
  }

  static std::uint32_t ThreadIndex() { return static_cast<std::uint32_t>(current->thread_); }
  static std::uint32_t BlockIndex() { return current->number_; }
  static std::uint32_t BlockCount() { return current->blocks_; }
  static std::uint32_t ActiveMask() { return 1U << current->thread_ % kWarp; }  // By itself.
  static void Barrier(std::uint32_t number) {
    current->Yield({Wait::kBarrier, number, current->fibers_.size()});
  }
  static void BarrierOfSome(std::uint32_t number, std::uint32_t threads) {
    STOKER_CHECK(number < kBarriers);
    current->Yield({Wait::kBarrier, number, threads});
  }
  // cp.async: what is copied is there when it is awaited, and not before.
  static void CopyToShared(char* to, const char* from, std::uint32_t bytes) {
    constexpr std::uint64_t kBytes = 16;
    STOKER_CHECK((reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from)) %
                     kBytes ==
                 0);
    STOKER_CHECK(bytes <= kBytes);
    std::string copied(from, bytes);
    copied.resize(kBytes);
    current->fibers_[current->thread_].copies.emplace_back(to, std::move(copied));
  }
  static void AwaitCopies() {
    auto& copies = current->fibers_[current->thread_].copies;
    for (const auto& [to, bytes] : copies) std::memcpy(to, bytes.data(), bytes.size());
    copies.clear();
  }
  static std::uint32_t Shuffle(std::uint32_t, std::uint32_t value, std::uint32_t mask,
                               std::uint32_t) {
    const int turn = current->Give({value});
    const std::size_t from = current->thread_ % kWarp ^ mask;
    return current->GivenBy(from, turn)[0];
  }

  // mma.sync m16n8k16 (PTX ISA, fragments of matrices of 16-bit floats).
  template <float (*kNumber)(std::uint32_t bits)>
  static void Multiply(float* sums, std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                       std::uint32_t a3, std::uint32_t b0, std::uint32_t b1, float c0, float c1,
                       float c2, float c3) {
    const int turn = current->Give({a0, a1, a2, a3, b0, b1});
    const std::size_t lane = current->thread_ % kWarp;
    const std::array<float, 4> before = {c0, c1, c2, c3};
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = before[i];
      const std::size_t column = lane % 4 * 2 + i % 2;
      for (std::size_t k = 0; k < 16; ++k) {
        const std::size_t from = k % 8 / 2;
        const auto half = [&](std::uint32_t word) { return kNumber(word >> k % 2 * 16 & 0xffff); };
        const std::uint32_t lhs = current->GivenBy(lane / 4 * 4 + from, turn)[i / 2 + k / 8 * 2];
        sum += double{half(lhs)} * half(current->GivenBy(column * 4 + from, turn)[4 + k / 8]);
      }
      sums[i] = static_cast<float>(sum);
    }
  }

  // ldmatrix m8n8.x4 (PTX ISA).
  template <bool kTransposed>
  static void LoadMatrices(std::uint32_t* matrices, const std::uint16_t* row) {
    const auto address = reinterpret_cast<std::uint64_t>(row);
    STOKER_CHECK(address % 16 == 0);
    const int turn = current->Give(
        {static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32)});
    const std::size_t lane = current->thread_ % kWarp;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = [&](std::size_t y, std::size_t x) {
        const Words& given = current->GivenBy(i * 8 + y, turn);
        const auto address = std::uint64_t{given[1]} << 32 | given[0];
        return std::uint32_t{reinterpret_cast<const std::uint16_t*>(address)[x]};
      };
      const std::size_t y = lane / 4;
      const std::size_t x = lane % 4 * 2;
      matrices[i] = kTransposed ? at(x, y) | at(x + 1, y) << 16 : at(y, x) | at(y, x + 1) << 16;
    }
  }

 private:
  struct Fiber {
    ucontext_t context;
    Wait wait;
    std::vector<std::pair<char*, std::string>> copies;  // That are not awaited.
    int turn = 0;
    std::array<Words, 2> given{};
  };

  // Returns when all have given theirs; in which turn, for others may still read what was given
  // before.
  int Give(const Words& words) {
    Fiber& mine = fibers_[thread_];
    mine.turn ^= 1;
    mine.given[static_cast<std::size_t>(mine.turn)] = words;
    Yield({Wait::kExchange, thread_ / kWarp, std::min(kWarp, fibers_.size())});
    return mine.turn;
  }
  const Words& GivenBy(std::size_t lane, int turn) const {
    STOKER_CHECK(lane < kWarp);
    return fibers_.at(thread_ / kWarp * kWarp + lane).given[static_cast<std::size_t>(turn)];
  }

  static void Enter() {
    current->body_();
    current->fibers_[current->thread_].wait = {Wait::kDone};
  }

  // Each until it waits; false where none may run: all are done, or wait for one another.
  bool RunThoseThatMay() {
    std::array<std::array<std::size_t, kPlaces>, Wait::kDone> waiting{};
    for (const Fiber& fiber : fibers_) {
      if (fiber.wait.kind != Wait::kDone) ++waiting[fiber.wait.kind][fiber.wait.place];
    }
    bool any = false;
    for (thread_ = 0; thread_ < fibers_.size(); ++thread_) {
      const Wait wait = fibers_[thread_].wait;
      if (wait.kind == Wait::kDone || waiting[wait.kind][wait.place] < wait.threads) continue;
      any = true;
      STOKER_CHECK(swapcontext(&scheduler_, &fibers_[thread_].context) == 0);
    }
    return any;
  }

  void Yield(Wait wait) {
    Fiber& fiber = fibers_[thread_];
    fiber.wait = wait;
    STOKER_CHECK(swapcontext(&fiber.context, &scheduler_) == 0);
  }

  static thread_local Block* current;

  const std::uint32_t blocks_;
  std::uint32_t number_ = 0;
  std::vector<Fiber> fibers_;
  char* stacks_ = nullptr;
  std::size_t stacks_bytes_ = 0;
  ucontext_t scheduler_{};
  std::size_t thread_ = 0;
  std::function<void()> body_;
};

thread_local Block* Block::current = nullptr;

// ---- The module

using Builder = llvm::IRBuilder<>;

template <typename Function>
llvm::Value* AddressOf(Builder& b, Function* function) {
  return b.CreateIntToPtr(b.getInt64(reinterpret_cast<std::uint64_t>(function)), b.getPtrTy());
}

// ---- Instructions that approximate

// Up to `units` in the last place of a normal result, one way or the other.
float Missed(float exact, int units) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &exact, sizeof bits);
  if (!std::isnormal(exact)) return exact;
  bits += static_cast<std::uint32_t>(static_cast<int>(bits * 0x9e3779b1U >> 16) % (2 * units + 1) -
                                     units);
  std::memcpy(&exact, &bits, sizeof bits);
  return exact;
}

float Flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

float Exp2Approx(float x) { return Missed(std::exp2(x), 1); }
float FlushedExp2Approx(float x) { return Flushed(Exp2Approx(Flushed(x))); }
float ReciprocalRootApprox(float x) { return Missed(1 / std::sqrt(x), 2); }
float FlushedReciprocalApprox(float x) { return Flushed(Missed(1 / Flushed(x), 1)); }

// ---- Halves of registers

float BF16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

float F16(std::uint32_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto digits = static_cast<float>(bits & 0x3ff);
  float value = std::ldexp(digits, -24);
  if (exponent == 31) {
    value = digits == 0 ? std::numeric_limits<float>::infinity()
                        : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent != 0) {
    value = std::ldexp(digits + 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// A call of `function`, which writes the four results to where its first argument says; 16-bit
// pairs are words to it.
llvm::Value* CallForFour(Builder& b, llvm::CallInst* call, llvm::Value* function) {
  llvm::Function* kernel = call->getFunction();
  Builder entry(&kernel->getEntryBlock(), kernel->getEntryBlock().begin());
  llvm::Type* lane = call->getType()->getStructElementType(0);
  llvm::Value* results = entry.CreateAlloca(llvm::ArrayType::get(lane, 4));
  std::vector<llvm::Value*> arguments = {results};
  std::vector<llvm::Type*> types = {results->getType()};
  for (llvm::Value* argument : call->args()) {
    llvm::Type* type = argument->getType();
    if (type->isVectorTy()) argument = b.CreateBitCast(argument, b.getInt32Ty());
    if (type->isPointerTy()) argument = b.CreateAddrSpaceCast(argument, b.getPtrTy());
    arguments.push_back(argument);
    types.push_back(argument->getType());
  }
  b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), types, false), function, arguments);
  llvm::Value* all = llvm::PoisonValue::get(call->getType());
  for (unsigned i = 0; i < 4; ++i) {
    llvm::Value* at = b.CreateConstInBoundsGEP1_64(lane, results, i);
    all = b.CreateInsertValue(all, b.CreateLoad(lane, at), i);
  }
  return all;
}

// Of any space.
llvm::Value* CallWithPointers(Builder& b, llvm::CallInst* call, llvm::Value* function) {
  std::vector<llvm::Value*> arguments;
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : call->args()) {
    if (argument->getType()->isPointerTy()) {
      argument = b.CreateAddrSpaceCast(argument, b.getPtrTy());
    }
    arguments.push_back(argument);
    types.push_back(argument->getType());
  }
  return b.CreateCall(llvm::FunctionType::get(call->getType(), types, false), function, arguments);
}

// The second argument is the lower half.
llvm::Value* RoundedPair(Builder& b, llvm::CallInst* call) {
  llvm::Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getFloatTy(), 2));
  pair = b.CreateInsertElement(pair, call->getArgOperand(1), std::uint64_t{0});
  pair = b.CreateInsertElement(pair, call->getArgOperand(0), std::uint64_t{1});
  return b.CreateFPTrunc(pair, call->getType());
}

thread_local int assertions_failed = 0;

void FailAssertion(const char*, const char*, std::uint32_t, const char*, std::uint64_t) {
  ++assertions_failed;
}

bool IsOfGpus(const llvm::Function& function) {
  return function.getName().starts_with("llvm.nvvm.") || function.getName() == "__assertfail";
}

// Calls of what only a GPU has become calls of Block, or of these.
void ReplaceIntrinsics(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && call->getCalledFunction() != nullptr &&
            IsOfGpus(*call->getCalledFunction())) {
          calls.push_back(call);
        }
      }
    }
  }
  for (llvm::CallInst* call : calls) {
    Builder b(call);
    llvm::Value* target = nullptr;
    llvm::Value* four = nullptr;  // What gives four results.
    llvm::Value* made = nullptr;
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16:
        four = AddressOf(b, &Block::Multiply<BF16>);
        break;
      case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32:
        four = AddressOf(b, &Block::Multiply<F16>);
        break;
      case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16:
        four = AddressOf(b, &Block::LoadMatrices<false>);
        break;
      case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16:
        four = AddressOf(b, &Block::LoadMatrices<true>);
        break;
      case llvm::Intrinsic::not_intrinsic:
        target = AddressOf(b, &FailAssertion);
        break;
      case llvm::Intrinsic::nvvm_activemask:
        target = AddressOf(b, &Block::ActiveMask);
        break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x:
        target = AddressOf(b, &Block::ThreadIndex);
        break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
        target = AddressOf(b, &Block::BlockIndex);
        break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x:
        target = AddressOf(b, &Block::BlockCount);
        break;
      case llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all:
        target = AddressOf(b, &Block::Barrier);
        break;
      case llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count:
        target = AddressOf(b, &Block::BarrierOfSome);
        break;
      case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s:
        made = CallWithPointers(b, call, AddressOf(b, &Block::CopyToShared));
        break;
      case llvm::Intrinsic::nvvm_cp_async_wait_all:
        target = AddressOf(b, &Block::AwaitCopies);
        break;
      case llvm::Intrinsic::nvvm_shfl_sync_bfly_i32:
        target = AddressOf(b, &Block::Shuffle);
        break;
      case llvm::Intrinsic::nvvm_rsqrt_approx_f:
        target = AddressOf(b, &ReciprocalRootApprox);
        break;
      case llvm::Intrinsic::nvvm_ex2_approx:
        target = AddressOf(b, &Exp2Approx);
        break;
      case llvm::Intrinsic::nvvm_ex2_approx_ftz:
        target = AddressOf(b, &FlushedExp2Approx);
        break;
      case llvm::Intrinsic::nvvm_ff2bf16x2_rn:
        made = RoundedPair(b, call);
        break;
      case llvm::Intrinsic::nvvm_rcp_approx_ftz_f:
        target = AddressOf(b, &FlushedReciprocalApprox);
        break;
      default:
        STOKER_CHECK(false);
    }
    if (four != nullptr) {
      made = CallForFour(b, call, four);
    } else if (made == nullptr) {
      const std::vector<llvm::Value*> arguments(call->arg_begin(), call->arg_end());
      made = b.CreateCall(call->getFunctionType(), target, arguments);
    }
    call->replaceAllUsesWith(made);
    call->eraseFromParent();
  }
}

// Integers become bf16 by way of f32, which is exact where LLVM has left that out.
void SplitConversions(llvm::Module& module) {
  std::vector<llvm::CastInst*> conversions;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction);
        if (cast != nullptr && cast->getType()->getScalarType()->isBFloatTy() &&
            cast->getSrcTy()->isIntOrIntVectorTy() && !llvm::isa<llvm::BitCastInst>(cast)) {
          conversions.push_back(cast);
        }
      }
    }
  }
  for (llvm::CastInst* cast : conversions) {
    Builder b(cast);
    llvm::Type* single = cast->getType()->getWithNewType(b.getFloatTy());
    llvm::Value* wide = b.CreateCast(cast->getOpcode(), cast->getOperand(0), single);
    cast->replaceAllUsesWith(b.CreateFPTrunc(wide, cast->getType()));
    cast->eraseFromParent();
  }
}

// This processor may have no instruction that rounds to bf16.
void ReplaceRoundings(llvm::Module& module) {
  std::vector<llvm::FPTruncInst*> roundings;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* rounding = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
        if (rounding != nullptr && rounding->getType()->getScalarType()->isBFloatTy()) {
          roundings.push_back(rounding);
        }
      }
    }
  }
  for (llvm::FPTruncInst* rounding : roundings) {
    Builder b(rounding);
    llvm::Value* value = rounding->getOperand(0);
    llvm::Type* words = value->getType()->getWithNewType(b.getInt32Ty());
    llvm::Value* bits = b.CreateBitCast(value, words);
    llvm::Value* upper = b.CreateLShr(bits, 16);
    llvm::Value* odd = b.CreateAnd(upper, 1);
    const auto constant = [&](std::uint64_t v) { return llvm::ConstantInt::get(words, v); };
    llvm::Value* rounded =
        b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(odd, constant(0x7fff))), constant(16));
    llvm::Value* quiet = b.CreateOr(upper, constant(0x40));
    rounded = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
    rounded = b.CreateTrunc(rounded, words->getWithNewType(b.getInt16Ty()));
    // Single lanes are taken and stored as words: with bf16 this processor does nothing without a
    // library.
    for (llvm::User* user : llvm::make_early_inc_range(rounding->users())) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store != nullptr) {
        store->setOperand(0, rounded);
        continue;
      }
      if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(user)) {
        cast->replaceAllUsesWith(Builder(cast).CreateBitCast(rounded, cast->getType()));
        cast->eraseFromParent();
        continue;
      }
      auto* lane = llvm::dyn_cast<llvm::ExtractElementInst>(user);
      if (lane == nullptr) continue;
      Builder at(lane);
      llvm::Value* word = at.CreateExtractElement(rounded, lane->getIndexOperand());
      lane->replaceAllUsesWith(at.CreateBitCast(word, lane->getType()));
      lane->eraseFromParent();
    }
    rounding->replaceAllUsesWith(b.CreateBitCast(rounded, rounding->getType()));
    rounding->eraseFromParent();
  }
}

// Of the one that a block is given when it is launched.
std::size_t DynamicBytes(const llvm::Module& module) {
  const llvm::GlobalVariable* size = module.getNamedGlobal(kCudaSharedBytesSymbol);
  STOKER_CHECK(size != nullptr);
  return llvm::cast<llvm::ConstantInt>(size->getInitializer())->getZExtValue();
}

// Places of shared variables, which become addresses.
void PlaceShared(llvm::Module& module, std::string& memory) {
  std::map<llvm::GlobalVariable*, std::size_t> places;
  std::size_t bytes = 0;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() != 3) continue;
    places[&variable] = bytes;
    const std::size_t size = variable.isDeclaration()
                                 ? DynamicBytes(module)
                                 : module.getDataLayout().getTypeAllocSize(variable.getValueType());
    bytes += (size + 15) / 16 * 16;
  }
  memory.resize(bytes + 16);
  const auto start = (reinterpret_cast<std::uint64_t>(memory.data()) + 15) / 16 * 16;
  for (const auto& [variable, place] : places) {
    llvm::Constant* address =
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), start + place);
    variable->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(address, variable->getType()));
    variable->eraseFromParent();
  }
}

// A function that takes the kernel's arguments from an array of them.
void AddEntry(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* kernel = nullptr;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernel = &function;
    function.setCallingConv(llvm::CallingConv::C);
    function.setAttributes({});
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  llvm::Function* entry =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kKernelSymbol, module);
  Builder b(llvm::BasicBlock::Create(context, "entry", entry));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : kernel->args()) {
    llvm::Value* at = b.CreateConstGEP1_64(b.getInt64Ty(), entry->getArg(0), argument.getArgNo());
    arguments.push_back(b.CreateLoad(argument.getType(), at));
  }
  b.CreateCall(kernel, arguments);
  b.CreateRetVoid();
}

Result<std::string> CompileForHost(llvm::Module& module) {
  STOKER_TRY(const Target target, Target::Parse("cpu/x86-64-v3"));
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  STOKER_TRY(const auto host, codegen::X86TargetMachine(machine));
  module.setTargetTriple(host->getTargetTriple());
  module.setDataLayout(host->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  STOKER_CHECK(
      !host->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(module);
  return codegen::LinkSharedObject(std::string_view(object.data(), object.size()), kKernelSymbol);
}

}  // namespace

Result<std::unique_ptr<EmulatedKernel>> EmulatedKernel::Make(const ScheduledKernel& scheduled,
                                                             const Target& target) {
  std::unique_ptr<EmulatedKernel> kernel(new EmulatedKernel);
  kernel->schedule_ = std::get<CudaSchedule>(scheduled.schedule);
  STOKER_TRY(const GpuMachine machine, GpuMachineOf(target));
  const SpanSink nobody;
  Laps untimed(nobody);
  STOKER_TRY(const auto backend,
             codegen::BuildNvptxKernel(scheduled.func, kernel->schedule_, machine, untimed));
  llvm::Module& module = backend->module();
  ReplaceIntrinsics(module);
  SplitConversions(module);
  ReplaceRoundings(module);
  PlaceShared(module, kernel->shared_);
  AddEntry(module);
  STOKER_TRY(const std::string elf, CompileForHost(module));
  kernel->file_ = memfd_create("kernel", MFD_CLOEXEC);
  if (write(kernel->file_, elf.data(), elf.size()) != static_cast<ssize_t>(elf.size())) {
    return Internal("write failed.");
  }
  const std::string path = "/proc/self/fd/" + std::to_string(kernel->file_);
  kernel->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (kernel->library_ == nullptr) return Internal(std::string("dlopen: ") + dlerror());
  kernel->function_ =
      reinterpret_cast<void (*)(const std::uint64_t*)>(dlsym(kernel->library_, kKernelSymbol));
  return kernel;
}

int EmulatedKernel::TakeFailures() { return std::exchange(assertions_failed, 0); }

EmulatedKernel::~EmulatedKernel() {
  if (library_ != nullptr) dlclose(library_);
  if (file_ >= 0) close(file_);
}

void EmulatedKernel::Run(const std::vector<void*>& buffers, const SymBindings& symbols) const {
  std::vector<std::uint64_t> parameters;
  for (void* buffer : buffers) parameters.push_back(reinterpret_cast<std::uint64_t>(buffer));
  for (const SymDim& dim : schedule_.dims) {
    parameters.push_back(static_cast<std::uint64_t>(dim.Evaluate(symbols).value()));
  }
  RunBlocks(schedule_.grid.Evaluate(symbols).value(), parameters.data());
}

void EmulatedKernel::RunBlocks(std::int64_t blocks, const std::uint64_t* parameters) const {
  Block block(schedule_.threads, blocks);
  // Nothing may rely on their order: the last first.
  for (std::int64_t i = blocks; i-- > 0;) {
    std::memset(const_cast<char*>(shared_.data()), 0xff, shared_.size());
    block.Run(static_cast<std::uint32_t>(i), [&] { function_(parameters); });
  }
}

}  // namespace stoker
