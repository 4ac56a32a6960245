#include "tests/unit/compiler/codegen/tile_emulation.h"

#include <elf.h>
#include <immintrin.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "protocol/base/check.h"

namespace stoker {
namespace {

constexpr std::uint8_t kVex = 0xc4;  // Three-byte prefix, which all tile instructions have.
// A breakpoint, which the kernel stops behind. What is no instruction costs far more on a virtual
// machine: its host looks at it first.
constexpr std::uint8_t kTrap = 0xcc;

constexpr std::uint8_t kConfigure = 0x49;  // And zero, release.
constexpr std::uint8_t kMove = 0x4b;
constexpr std::uint8_t kMultiplyBF16 = 0x5c;

// The mandatory prefix that VEX holds.
enum Prefix : std::uint8_t { kNone = 0, k66 = 1, kF3 = 2, kF2 = 3 };

struct Tile {
  std::uint8_t rows;
  std::uint16_t row_bytes;
  std::uint8_t data[16][64];
};

struct Tiles {
  std::array<Tile, 8> tiles;
};

Tiles& ThreadTiles() {
  thread_local constinit Tiles tiles = {};
  return tiles;
}

struct TileConfig {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);

// Bytes 1 to 4 of a VEX instruction, and the memory operand that they begin.
class Instruction {
 public:
  Instruction(const std::uint8_t* bytes, const gregset_t& registers)
      : bytes_(bytes), registers_(registers) {
    if (mod() == 3) return;
    std::uint64_t base = 0;
    const bool has_sib = rm() == 4;
    if (has_sib) {
      const std::uint8_t sib = bytes_[length_++];
      const unsigned index = ((sib >> 3U) & 7U) | (Inverted(1, 6) << 3U);
      if (index != 4) stride_ = Register(index) << (sib >> 6U);
      has_base_ = mod() != 0 || (sib & 7U) != 5;
      if (has_base_) base = Register((sib & 7U) | (Inverted(1, 5) << 3U));
    } else {
      has_base_ = mod() != 0 || rm() != 5;
      if (has_base_) base = Register(rm() | (Inverted(1, 5) << 3U));
    }
    std::int64_t displacement = 0;
    if (mod() == 1) {
      displacement = static_cast<std::int8_t>(bytes_[length_++]);
    } else if (mod() == 2 || !has_base_) {
      std::int32_t wide = 0;
      std::memcpy(&wide, bytes_ + length_, sizeof wide);
      length_ += sizeof wide;
      displacement = wide;
    }
    if (!has_base_ && !has_sib) base = reinterpret_cast<std::uint64_t>(bytes_) + length_;
    pointer_ = base + static_cast<std::uint64_t>(displacement);
  }

  static bool IsTile(const std::uint8_t* bytes) {
    const std::uint8_t opcode = bytes[3];
    return (bytes[1] & 0x1fU) == 2 && (bytes[2] & 0x84U) == 0 &&
           (opcode == kConfigure || opcode == kMove || opcode == kMultiplyBF16);
  }

  Prefix prefix() const { return static_cast<Prefix>(bytes_[2] & 3U); }
  std::uint8_t opcode() const { return bytes_[3]; }
  bool in_memory() const { return mod() != 3; }
  unsigned reg() const { return (bytes_[4] >> 3U) & 7U; }
  unsigned rm() const { return bytes_[4] & 7U; }
  unsigned vvvv() const { return (~static_cast<unsigned>(bytes_[2]) >> 3U) & 7U; }
  std::size_t length() const { return length_; }
  // Of a memory operand; a tile's rows are `stride` bytes apart.
  std::uint8_t* pointer() const { return reinterpret_cast<std::uint8_t*>(pointer_); }
  std::uint64_t stride() const { return stride_; }

 private:
  unsigned mod() const { return bytes_[4] >> 6U; }
  unsigned Inverted(int byte, unsigned bit) const {
    return (~static_cast<unsigned>(bytes_[byte]) >> bit) & 1U;
  }
  std::uint64_t Register(unsigned number) const {
    constexpr int kNumbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<std::uint64_t>(registers_[kNumbers[number]]);
  }

  const std::uint8_t* bytes_;
  const gregset_t& registers_;
  std::size_t length_ = 5;
  bool has_base_ = true;
  std::uint64_t pointer_ = 0;
  std::uint64_t stride_ = 0;
};

void Clear(Tile& tile, std::size_t first_row) {
  for (std::size_t row = first_row; row < 16; ++row) std::memset(tile.data[row], 0, 64);
}

bool Configure(Tiles& tiles, const std::uint8_t* from) {
  TileConfig config;
  std::memcpy(&config, from, sizeof config);
  if (config.palette != 1 || config.start_row != 0) return false;
  for (std::size_t i = 0; i < tiles.tiles.size(); ++i) {
    Tile& tile = tiles.tiles[i];
    // The processor takes no tile with only one of the two.
    if (config.rows[i] > 16 || config.row_bytes[i] > 64) return false;
    tile.rows = config.rows[i];
    tile.row_bytes = config.row_bytes[i];
    Clear(tile, 0);
  }
  return true;
}

bool Load(Tile& tile, const Instruction& instruction) {
  if (tile.rows == 0) return false;
  Clear(tile, 0);
  for (std::size_t row = 0; row < tile.rows; ++row) {
    std::memcpy(tile.data[row], instruction.pointer() + row * instruction.stride(), tile.row_bytes);
  }
  return true;
}

bool Store(const Tile& tile, const Instruction& instruction) {
  if (tile.rows == 0) return false;
  for (std::size_t row = 0; row < tile.rows; ++row) {
    std::memcpy(instruction.pointer() + row * instruction.stride(), tile.data[row], tile.row_bytes);
  }
  return true;
}

// As the processor demands.
bool Fit(const Tile& sums, const Tile& lhs, const Tile& rhs) {
  return sums.rows != 0 && rhs.rows != 0 && sums.rows == lhs.rows &&
         sums.row_bytes == rhs.row_bytes && lhs.row_bytes == 4 * rhs.rows;
}

// Sums of even and of odd places apart, subnormal numbers as zeros.
__attribute__((target("avx2,fma"))) void MultiplyBF16(Tile& sums, const Tile& lhs,
                                                      const Tile& rhs) {
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(0x9fc0);  // Flushing, masked, to nearest.
  const auto bf16 = [](const std::uint8_t* at) {
    std::uint32_t bits = static_cast<std::uint32_t>(at[0] | (at[1] << 8)) << 16U;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  float b[16][2][16];
  for (std::size_t k = 0; k < rhs.rows; ++k) {
    for (std::size_t n = 0; n < 16; ++n) {
      b[k][0][n] = bf16(rhs.data[k] + 4 * n);
      b[k][1][n] = bf16(rhs.data[k] + 4 * n + 2);
    }
  }
  for (std::size_t m = 0; m < sums.rows; ++m) {
    float even[16] = {};
    float odd[16] = {};
    for (std::size_t k = 0; k < rhs.rows; ++k) {
      const float a0 = bf16(lhs.data[m] + 4 * k);
      const float a1 = bf16(lhs.data[m] + 4 * k + 2);
      for (std::size_t n = 0; n < 16; ++n) even[n] = std::fma(a0, b[k][0][n], even[n]);
      for (std::size_t n = 0; n < 16; ++n) odd[n] = std::fma(a1, b[k][1][n], odd[n]);
    }
    float row[16];
    std::memcpy(row, sums.data[m], sizeof row);
    for (std::size_t n = 0; n < 16; ++n) row[n] += even[n] + odd[n];
    std::memcpy(sums.data[m], row, sums.row_bytes);
  }
  Clear(sums, sums.rows);
  _mm_setcsr(mode);
}

// False for what the processor refuses, and for instructions that kernels do not use.
bool Execute(Tiles& state, const Instruction& instruction) {
  std::array<Tile, 8>& tiles = state.tiles;
  Tile& tile = tiles[instruction.reg()];
  const Prefix prefix = instruction.prefix();
  switch (instruction.opcode()) {
    case kConfigure:
      if (prefix == kNone && instruction.in_memory())
        return Configure(state, instruction.pointer());
      if (prefix == kNone) state = {};
      if (prefix == kF2) Clear(tile, 0);
      return prefix == kNone || (prefix == kF2 && tile.rows != 0);
    case kMove:
      if (prefix == kF2 || prefix == k66) return Load(tile, instruction);
      return prefix == kF3 && Store(tile, instruction);
    case kMultiplyBF16: {
      const Tile& lhs = tiles[instruction.rm()];
      const Tile& rhs = tiles[instruction.vvvv()];
      if (prefix != kF3 || !Fit(tile, lhs, rhs)) return false;
      MultiplyBF16(tile, lhs, rhs);
      return true;
    }
    default:
      return false;
  }
}

void OnTrap(int, siginfo_t* info, void* context) {
  gregset_t& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool is_breakpoint = info->si_code == SI_KERNEL;
  if (is_breakpoint) registers[REG_RIP] -= 1;
  const auto next = [&] { return reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]); };
  // A signal costs far more than a tile instruction: those that follow this one are executed too.
  bool is_executed = false;
  while (is_breakpoint && next()[0] == kTrap && Instruction::IsTile(next())) {
    const Instruction instruction(next(), registers);
    is_executed = Execute(ThreadTiles(), instruction);
    if (!is_executed) break;
    registers[REG_RIP] += static_cast<greg_t>(instruction.length());
  }
  // The instruction is executed again, and ends the process.
  if (!is_executed) signal(SIGTRAP, SIG_DFL);
}

void InstallHandler() {
  struct sigaction action = {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  STOKER_CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
}

// Lengths of instructions.
class Disassembler {
 public:
  Disassembler() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    const llvm::Triple triple("x86_64-unknown-linux-gnu");
    std::string problem;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
    STOKER_CHECK(target != nullptr);
    registers_.reset(target->createMCRegInfo(triple));
    assembly_.reset(target->createMCAsmInfo(*registers_, triple, llvm::MCTargetOptions()));
    subtarget_.reset(target->createMCSubtargetInfo(triple, "", ""));
    context_ = std::make_unique<llvm::MCContext>(triple, assembly_.get(), registers_.get(),
                                                 subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    STOKER_CHECK(disassembler_ != nullptr);
  }

  std::size_t LengthOf(llvm::ArrayRef<std::uint8_t> bytes) const {
    llvm::MCInst instruction;
    std::uint64_t length = 0;
    const auto status = disassembler_->getInstruction(instruction, length, bytes, 0, llvm::nulls());
    STOKER_CHECK(status == llvm::MCDisassembler::Success);
    return length;
  }

 private:
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

void TrapTiles(std::uint8_t* code, std::size_t size) {
  static const Disassembler disassembler;
  for (std::size_t at = 0; at < size;) {
    std::uint8_t* instruction = code + at;
    at += disassembler.LengthOf({instruction, size - at});
    if (instruction[0] == kVex && Instruction::IsTile(instruction)) instruction[0] = kTrap;
  }
}

}  // namespace

std::string WithEmulatedTiles(std::string elf) {
  static const bool installed = (InstallHandler(), true);
  STOKER_CHECK(installed);
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    TrapTiles(reinterpret_cast<std::uint8_t*>(elf.data()) + segment.p_offset, segment.p_filesz);
  }
  return elf;
}

}  // namespace stoker
