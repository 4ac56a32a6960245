#include "compiler/codegen/x86/elf_image.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace stoker::codegen {
namespace {

using namespace llvm::ELF;  // Names of the ELF specification.
using llvm::object::ELF64LEObjectFile;
using llvm::object::SectionRef;

constexpr std::uint64_t kPageSize = 4096;
constexpr std::uint64_t kMaxSectionAlignment = 64;
constexpr std::size_t kNumSegments = 5;

std::uint64_t AlignUp(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Error FromLlvm(llvm::Error error) {
  return Internal("Object file of a kernel: " + llvm::toString(std::move(error)));
}

// The shared object while it is being laid out. File offsets and addresses are equal modulo the
// page size: a segment begins on a new page in memory but follows at once in the file.
class Image {
 public:
  // Appends bytes at `alignment` to the current segment; returns their address.
  std::uint64_t Append(llvm::StringRef bytes, std::uint64_t alignment) {
    bytes_.resize(AlignUp(bytes_.size(), alignment));
    const std::uint64_t address = bytes_.size() + shift_;
    bytes_.append(bytes.data(), bytes.size());
    return address;
  }
  template <typename T>
  std::uint64_t AppendObject(const T& object) {
    return Append(llvm::StringRef(reinterpret_cast<const char*>(&object), sizeof object),
                  alignof(T));
  }
  void NextPage() { shift_ += kPageSize; }

  std::uint64_t size() const { return bytes_.size(); }
  std::uint64_t shift() const { return shift_; }
  char* At(std::uint64_t offset) { return bytes_.data() + offset; }
  std::string Take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::uint64_t shift_ = 0;  // Address minus file offset.
};

struct Placed {
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  // In the file.
};

Elf64_Phdr Segment(std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
                   std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  Elf64_Phdr header{};
  header.p_type = type;
  header.p_flags = flags;
  header.p_offset = offset;
  header.p_vaddr = address;
  header.p_paddr = address;
  header.p_filesz = size;
  header.p_memsz = size;
  header.p_align = alignment;
  return header;
}

class Linker {
 public:
  Linker(const ELF64LEObjectFile& object, std::string_view symbol)
      : object_(object), symbol_(symbol) {}

  Result<std::string> Link() {
    STOKER_RETURN_IF_ERROR(CheckSymbols());
    // First segment, read only: headers, what the loader reads, constants.
    image_.Append(std::string(sizeof(Elf64_Ehdr) + kNumSegments * sizeof(Elf64_Phdr), '\0'), 8);
    const std::string strings = '\0' + symbol_ + '\0';
    const std::uint64_t strtab = image_.Append(strings, 1);
    // One bucket with one chain: every lookup compares the only symbol.
    const std::uint32_t hash[] = {1, 2, 1, 0, 0};  // nbucket, nchain, bucket[0], chain[0..1]
    const std::uint64_t hashtab = image_.AppendObject(hash);
    const std::uint64_t symtab = image_.AppendObject(Elf64_Sym{});
    const std::uint64_t exported = image_.AppendObject(Elf64_Sym{});
    STOKER_RETURN_IF_ERROR(Place(false));
    const Elf64_Phdr constants = Segment(PT_LOAD, PF_R, 0, 0, image_.size(), kPageSize);

    const std::uint64_t code_begin = NewSegment();
    STOKER_RETURN_IF_ERROR(Place(true));
    const Elf64_Phdr code = Loaded(PF_R | PF_X, code_begin);

    // Older loaders write into the dynamic section.
    const std::uint64_t dynamic_begin = NewSegment();
    const Elf64_Dyn dynamic[] = {{DT_HASH, {hashtab}},
                                 {DT_SYMTAB, {symtab}},
                                 {DT_STRTAB, {strtab}},
                                 {DT_STRSZ, {strings.size()}},
                                 {DT_SYMENT, {sizeof(Elf64_Sym)}},
                                 {DT_NULL, {0}}};
    image_.AppendObject(dynamic);
    const Elf64_Phdr writable = Loaded(PF_R | PF_W, dynamic_begin);
    Elf64_Phdr dynamic_header = writable;
    dynamic_header.p_type = PT_DYNAMIC;
    dynamic_header.p_align = 8;

    STOKER_RETURN_IF_ERROR(Relocate());
    Elf64_Sym sym{};
    sym.st_name = 1;
    sym.setBindingAndType(STB_GLOBAL, STT_FUNC);
    sym.st_shndx = 1;  // Any defined section.
    sym.st_value = kernel_address_;
    sym.st_size = kernel_size_;
    std::memcpy(image_.At(exported), &sym, sizeof sym);  // First segment: offset is address.
    const Elf64_Phdr stack = Segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16);
    WriteHeaders({constants, code, writable, dynamic_header, stack});
    return std::move(image_).Take();
  }

 private:
  std::uint64_t NewSegment() {
    image_.Append("", kMaxSectionAlignment);
    image_.NextPage();
    return image_.size();
  }
  Elf64_Phdr Loaded(std::uint32_t flags, std::uint64_t begin) const {
    const std::uint64_t size = image_.size() > begin ? image_.size() - begin : 0;
    return Segment(PT_LOAD, flags, begin, begin + image_.shift(), size, kPageSize);
  }

  Status CheckSymbols() {
    for (const llvm::object::ELFSymbolRef symbol : object_.symbols()) {
      llvm::Expected<llvm::StringRef> name = symbol.getName();
      if (!name) return FromLlvm(name.takeError());
      llvm::Expected<std::uint32_t> flags = symbol.getFlags();
      if (!flags) return FromLlvm(flags.takeError());
      if ((*flags & llvm::object::SymbolRef::SF_Undefined) != 0 && !name->empty()) {
        return Internal("Kernel refers to the external symbol " + name->str() + ".");
      }
    }
    return Ok();
  }

  // Lays out the sections that are loaded: code, or constants.
  Status Place(bool code) {
    for (const SectionRef& section : object_.sections()) {
      const llvm::object::ELFSectionRef elf(section);
      const bool executable = (elf.getFlags() & SHF_EXECINSTR) != 0;
      if ((elf.getFlags() & SHF_ALLOC) == 0 || executable != code || section.getSize() == 0) {
        continue;
      }
      llvm::Expected<llvm::StringRef> name = section.getName();
      if (!name) return FromLlvm(name.takeError());
      if (*name == ".eh_frame") continue;  // Kernels do not unwind.
      if ((elf.getFlags() & SHF_WRITE) != 0) {
        return Internal("Kernel has the writable section " + name->str() + ".");
      }
      llvm::Expected<llvm::StringRef> contents = section.getContents();
      if (!contents) return FromLlvm(contents.takeError());
      const std::uint64_t alignment = section.getAlignment().value();
      if (alignment > kMaxSectionAlignment) {
        return Internal("Section " + name->str() + " of a kernel is aligned to " +
                        std::to_string(alignment) + " bytes.");
      }
      const std::uint64_t address = image_.Append(*contents, alignment);
      placed_[section.getIndex()] = {address, address - image_.shift()};
    }
    return Ok();
  }

  Result<std::uint64_t> AddressOf(const llvm::object::SymbolRef& symbol) {
    llvm::Expected<llvm::object::section_iterator> section = symbol.getSection();
    if (!section) return FromLlvm(section.takeError());
    if (*section == object_.section_end()) return Internal("Kernel refers to an absolute symbol.");
    const auto at = placed_.find((*section)->getIndex());
    if (at == placed_.end()) return Internal("Kernel refers to a section that is not loaded.");
    llvm::Expected<std::uint64_t> value = symbol.getValue();
    if (!value) return FromLlvm(value.takeError());
    return at->second.address + *value;
  }

  Status Relocate() {
    for (const SectionRef& section : object_.sections()) {
      llvm::Expected<llvm::object::section_iterator> target = section.getRelocatedSection();
      if (!target) return FromLlvm(target.takeError());
      if (*target == object_.section_end()) continue;
      const auto at = placed_.find((*target)->getIndex());
      if (at == placed_.end()) continue;
      for (const llvm::object::ELFRelocationRef relocation : section.relocations()) {
        STOKER_RETURN_IF_ERROR(Apply(relocation, at->second));
      }
    }
    for (const llvm::object::ELFSymbolRef symbol : object_.symbols()) {
      llvm::Expected<llvm::StringRef> name = symbol.getName();
      if (!name) return FromLlvm(name.takeError());
      if (*name != symbol_) continue;
      STOKER_TRY(kernel_address_, AddressOf(symbol));
      kernel_size_ = symbol.getSize();
      return Ok();
    }
    return Internal("Object file defines no symbol " + symbol_ + ".");
  }

  Status Apply(const llvm::object::ELFRelocationRef& relocation, const Placed& section) {
    STOKER_TRY(const std::uint64_t target, AddressOf(*relocation.getSymbol()));
    llvm::Expected<std::int64_t> addend = relocation.getAddend();
    if (!addend) return FromLlvm(addend.takeError());
    const std::uint64_t place = section.address + relocation.getOffset();
    const std::uint64_t value = target + static_cast<std::uint64_t>(*addend) - place;
    const auto type = static_cast<std::uint32_t>(relocation.getType());
    char* at = image_.At(section.offset + relocation.getOffset());
    if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) {
      const auto narrow = static_cast<std::int32_t>(value);
      std::memcpy(at, &narrow, sizeof narrow);
      return Ok();
    }
    if (type == R_X86_64_PC64) {
      std::memcpy(at, &value, sizeof value);
      return Ok();
    }
    return Internal("Kernel needs a relocation of type " + std::to_string(type) + ".");
  }

  void WriteHeaders(const std::vector<Elf64_Phdr>& segments) {
    STOKER_CHECK(segments.size() == kNumSegments);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ElfMagic, 4);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = kNumSegments;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::memcpy(image_.At(0), &header, sizeof header);
    std::memcpy(image_.At(sizeof header), segments.data(), segments.size() * sizeof(Elf64_Phdr));
  }

  const ELF64LEObjectFile& object_;
  std::string symbol_;
  Image image_;
  std::map<std::uint64_t, Placed> placed_;  // By section index.
  std::uint64_t kernel_address_ = 0;
  std::uint64_t kernel_size_ = 0;
};

}  // namespace

Result<std::string> LinkSharedObject(std::string_view object, std::string_view symbol) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernel");
  llvm::Expected<ELF64LEObjectFile> file = ELF64LEObjectFile::create(buffer);
  if (!file) return FromLlvm(file.takeError());
  return Linker(*file, symbol).Link();
}

}  // namespace stoker::codegen
