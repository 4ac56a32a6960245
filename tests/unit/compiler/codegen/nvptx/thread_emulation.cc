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

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "compiler/codegen/nvptx/nvptx_kernel.h"
#include "compiler/codegen/x86/elf_image.h"
#include "compiler/codegen/x86/x86_target.h"
#include "protocol/artifact/cuda_kernel_abi.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

// ---- The threads of one block

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

// What a thread waits for.
enum class Wait { kNothing, kBarrier, kShuffle, kDone };

class Block {
 public:
  Block(int threads, std::uint32_t number)
      : number_(number), fibers_(static_cast<std::size_t>(threads)) {
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
      fiber.wait = Wait::kNothing;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks_ + i * kStackBytes;
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, &Block::Enter, 0);
    }
    do {
      for (thread_ = 0; thread_ < fibers_.size(); ++thread_) {
        STOKER_CHECK(swapcontext(&scheduler_, &fibers_[thread_].context) == 0);
      }
      for (const Fiber& fiber : fibers_) STOKER_CHECK(fiber.wait == fibers_[0].wait);
    } while (fibers_[0].wait != Wait::kDone);
  }

  static std::uint32_t ThreadIndex() { return static_cast<std::uint32_t>(current->thread_); }
  static std::uint32_t BlockIndex() { return current->number_; }
  static void Barrier(std::uint32_t) { current->Yield(Wait::kBarrier); }
  static std::uint32_t Shuffle(std::uint32_t, std::uint32_t value, std::uint32_t mask,
                               std::uint32_t) {
    Block& block = *current;
    Fiber& mine = block.fibers_[block.thread_];
    const int turn = mine.turn ^= 1;  // Others may still read what was given before.
    mine.given[turn] = value;
    block.Yield(Wait::kShuffle);
    const std::size_t from = block.thread_ ^ mask;
    STOKER_CHECK(from < block.fibers_.size() && from / 32 == block.thread_ / 32);
    return block.fibers_[from].given[turn];
  }

 private:
  struct Fiber {
    ucontext_t context;
    Wait wait = Wait::kNothing;
    int turn = 0;
    std::uint32_t given[2] = {};
  };

  static void Enter() {
    current->body_();
    current->fibers_[current->thread_].wait = Wait::kDone;
  }

  void Yield(Wait wait) {
    Fiber& fiber = fibers_[thread_];
    fiber.wait = wait;
    STOKER_CHECK(swapcontext(&fiber.context, &scheduler_) == 0);
  }

  static thread_local Block* current;

  std::uint32_t number_;
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

// Calls of what only a GPU has become calls of Block, or of these.
void ReplaceIntrinsics(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && call->getCalledFunction() != nullptr &&
            call->getCalledFunction()->getName().starts_with("llvm.nvvm.")) {
          calls.push_back(call);
        }
      }
    }
  }
  for (llvm::CallInst* call : calls) {
    Builder b(call);
    llvm::Value* target = nullptr;
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x:
        target = AddressOf(b, &Block::ThreadIndex);
        break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
        target = AddressOf(b, &Block::BlockIndex);
        break;
      case llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all:
        target = AddressOf(b, &Block::Barrier);
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
      case llvm::Intrinsic::nvvm_rcp_approx_ftz_f:
        target = AddressOf(b, &FlushedReciprocalApprox);
        break;
      default:
        STOKER_CHECK(false);
    }
    const std::vector<llvm::Value*> arguments(call->arg_begin(), call->arg_end());
    llvm::CallInst* made = b.CreateCall(call->getFunctionType(), target, arguments);
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

// Places of shared variables, which become addresses.
void PlaceShared(llvm::Module& module, std::string& memory) {
  std::map<llvm::GlobalVariable*, std::size_t> places;
  std::size_t bytes = 0;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() != 3) continue;
    places[&variable] = bytes;
    bytes += (module.getDataLayout().getTypeAllocSize(variable.getValueType()) + 15) / 16 * 16;
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
  llvm::Function* kernel = module.getFunction(kCudaKernelSymbol);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
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
  Block block(schedule_.threads, 0);
  // Nothing may rely on their order: the last first.
  for (std::int64_t i = blocks; i-- > 0;) {
    std::memset(const_cast<char*>(shared_.data()), 0xff, shared_.size());
    block.Run(static_cast<std::uint32_t>(i), [&] { function_(parameters); });
  }
}

}  // namespace stoker
