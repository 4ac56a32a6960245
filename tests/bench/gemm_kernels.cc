// Question: how near to the processor's peak are the contraction and attention kernels on the
// shapes of GPT-2, BERT, ViT and ResNet-18, on one core, and how long does each take to compile?
//
// Weights take turns among enough copies that they come from memory, as in a whole model. The peer
// is the peak measured right before and after: register-only multiply-adds, or AMX products (f32:
// six for each). Times are processor time of the thread.
// Usage: gemm_kernels [substring of a row's name] [target [warm]]; warm: one copy of the weights,
// which the second-level cache may hold.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler/machine/machine.h"
#include "protocol/key/target.h"
#include "tests/bench/processor_peak.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"

namespace stoker {
namespace {

constexpr std::int64_t kColdBytes = 64 << 20;
constexpr double kSecondsPerRow = 0.3;

struct Row {
  std::string name;
  std::vector<std::int64_t> batch;
  std::vector<ContractionDim> m;
  std::vector<ContractionDim> k;
  std::int64_t n = 0;
  bool gelu = false;
};

Row Matmul(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k,
           bool gelu = false) {
  return {name + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
          {},
          {{m, k}},
          {{k, 1}},
          n,
          gelu};
}

Row Convolution(const std::string& name, std::int64_t size, std::int64_t channels,
                std::int64_t window, std::int64_t stride, std::int64_t features) {
  const std::int64_t w = (size - 1) * stride + window;
  Row row{name + " " + std::to_string(size) + "^2 " + std::to_string(window) + "x" +
              std::to_string(window) + "/" + std::to_string(stride) + " " +
              std::to_string(channels) + "->" + std::to_string(features),
          {},
          {{1, w * w * channels}, {size, stride * w * channels}, {size, stride * channels}},
          {{window, w * channels}, {window * channels, 1}},
          features,
          false};
  if (window == 1) row.k = {{channels, 1}};
  return row;
}

std::vector<Row> Rows() {
  std::vector<Row> rows = {
      Matmul("gpt2 qkv", 128, 2304, 768),
      Matmul("gpt2 proj", 128, 768, 768),
      Matmul("gpt2 mlp up", 128, 3072, 768),
      Matmul("gpt2 mlp up gelu", 128, 3072, 768, true),
      Matmul("gpt2 mlp down", 128, 768, 3072),
      Matmul("gpt2 b4 mlp up", 512, 3072, 768),
      Matmul("gpt2 b4 mlp down", 512, 768, 3072),
      Matmul("gpt2 lm head", 128, 50257, 768),
      Matmul("vit mlp up", 197, 3072, 768),
      Matmul("vit mlp down", 197, 768, 3072),
      Matmul("llama mlp down", 128, 4096, 11008),
      Matmul("square", 1024, 1024, 1024),
      Matmul("skinny", 1, 768, 768),
      Matmul("skinny", 4, 3072, 768),
      Matmul("skinny", 16, 3072, 768),
      Matmul("skinny", 32, 3072, 768),
      Matmul("skinny", 64, 3072, 768),
      Matmul("resnet fc", 1, 1000, 512),
      Convolution("resnet stem", 112, 3, 7, 2, 64),
      Convolution("resnet", 56, 64, 3, 1, 64),
      Convolution("resnet", 28, 64, 3, 2, 128),
      Convolution("resnet", 28, 128, 3, 1, 128),
      Convolution("resnet", 14, 256, 3, 1, 256),
      Convolution("resnet", 7, 512, 3, 1, 512),
      Convolution("resnet", 28, 64, 1, 2, 128),
  };
  Row batched = Matmul("batched", 128, 128, 64);
  batched.batch = {12};
  rows.push_back(batched);
  return rows;
}

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Memory for one buffer, in large pages as the runtime's, filled with small values of its type.
class Memory {
 public:
  Memory(DType dtype, std::int64_t elements)
      : bytes_(static_cast<std::size_t>(elements * SizeInBytes(dtype)) + 128) {
    data_ = static_cast<std::byte*>(
        std::aligned_alloc(kHugePage, (bytes_ + kHugePage - 1) / kHugePage * kHugePage));
    madvise(data_, bytes_, MADV_HUGEPAGE);
    std::memset(data_, 0, bytes_);
    std::mt19937 random(3);
    for (std::int64_t i = 0; i < elements; ++i) {
      const float value = static_cast<float>(random() % 200) / 100.0F - 1;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, 4);
      if (dtype == DType::kBF16) bits >>= 16;
      std::memcpy(data_ + i * SizeInBytes(dtype), &bits, dtype == DType::kBF16 ? 2 : 4);
    }
  }
  ~Memory() { std::free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

// Runs `kernel` on each set of buffers in turn; prints one line.
void Measure(const std::string& name, DType dtype, const Target& target, const KernelFunc& func,
             double flops, const std::vector<std::vector<void*>>& buffers) {
  double compile_ms = 1e9;
  std::unique_ptr<LoadedKernel> kernel;
  for (int i = 0; i < 3; ++i) {
    const double begin = ThreadSeconds();
    auto made = LoadedKernel::Make(func, target);
    if (!made.ok()) {
      std::printf("%-34s %s\n", name.c_str(), made.error().message.c_str());
      return;
    }
    kernel = std::move(made).value();
    compile_ms = std::min(compile_ms, (ThreadSeconds() - begin) * 1e3);
  }
  const std::int64_t tasks = kernel->launch().tasks.constant();
  Memory scratch(DType::kF32, (kScratchHeaderBytes + kernel->launch().scratch_bytes) / 4 + 16);
  std::vector<double> shares;
  std::vector<double> rates;
  std::size_t turn = 0;
  const auto run = [&] {
    auto* const begin = static_cast<std::byte*>(scratch.data());
    new (begin) ScratchHeader;
    kernel->function()(buffers[turn++ % buffers.size()].data(), nullptr, 0, tasks,
                       begin + kScratchHeaderBytes);
  };
  run();
  const double start = ThreadSeconds();
  while (ThreadSeconds() - start < kSecondsPerRow || rates.size() < 5) {
    const double peak = PeakGflops(dtype, target);
    const double begin = ThreadSeconds();
    run();
    const double rate = flops / (ThreadSeconds() - begin) * 1e-9;
    rates.push_back(rate);
    shares.push_back(rate / std::max(peak, PeakGflops(dtype, target)));
  }
  std::sort(shares.begin(), shares.end());
  std::sort(rates.begin(), rates.end());
  const auto percentile = [](const std::vector<double>& values, std::size_t percent) {
    return values[std::min(values.size() - 1, values.size() * percent / 100)];
  };
  std::printf(
      "%-34s %-4s %6ld tasks %8.1f us %7.1f GF/s  of peak: median %5.1f%%  best %5.1f%%  compile "
      "%5.1f ms\n",
      name.c_str(), std::string(Name(dtype)).c_str(), static_cast<long>(tasks),
      flops / percentile(rates, 90) * 1e-3, percentile(rates, 90), 100 * percentile(shares, 50),
      100 * percentile(shares, 90), compile_ms);
  std::fflush(stdout);
}

void MeasureContraction(const Row& row, DType dtype, Numerics numerics, const Target& target,
                        bool warm) {
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
  for (const ContractionDim& dim : row.m) m *= dim.extent.constant();
  for (const ContractionDim& dim : row.k) k *= dim.extent.constant();
  for (const std::int64_t extent : row.batch) batch *= extent;
  std::int64_t lhs_elements = 1;
  for (const auto* dims : {&row.m, &row.k}) {
    for (const ContractionDim& dim : *dims) {
      lhs_elements += (dim.extent.constant() - 1) * dim.lhs_stride.constant();
    }
  }
  ContractionFunc func;
  for (const std::int64_t extent : row.batch) func.batch.push_back({extent, lhs_elements, true});
  func.m = row.m;
  func.k = row.k;
  func.n = row.n;
  func.lhs_dtype = dtype;
  const ProductLayout product = MachineOf(target).value()->LayoutOf({dtype, numerics, m, row.n, k});
  func.rhs = product.rhs;
  func.parts = product.parts;
  func.operands = {{dtype, false, false},
                   {func.rhs.dtype, false, false},
                   {dtype, true, false},
                   {dtype, false, false}};
  BodyBuilder body(func.epilogue);
  std::vector<std::pair<int, SymDim>> terms;
  SymDim stride = row.n;
  const int n_dim = static_cast<int>(row.batch.size() + row.m.size());
  IndexMap out;
  out.terms.push_back({n_dim, 1, 1, 0});
  for (int dim = n_dim - 1; dim >= 0; --dim) {
    out.terms.insert(out.terms.begin(), {dim, stride, 1, 0});
    const auto at = static_cast<std::size_t>(dim);
    stride = stride *
             (at < row.batch.size() ? SymDim(row.batch[at]) : row.m[at - row.batch.size()].extent);
  }
  std::uint32_t value = body.Input(0, DType::kF32);
  value = body.Op(OpKind::kAdd, {value, body.Load(At(3, dtype, Affine({{n_dim, 1}})))});
  if (row.gelu) {
    const auto erf =
        body.Op(OpKind::kErf,
                {body.Op(OpKind::kMultiply, {value, body.Constant(DType::kF32, 0.70710678)})});
    const auto half = body.Op(OpKind::kMultiply, {value, body.Constant(DType::kF32, 0.5)});
    value = body.Op(OpKind::kMultiply,
                    {half, body.Op(OpKind::kAdd, {erf, body.Constant(DType::kF32, 1)})});
  }
  func.stores.push_back({value, At(2, dtype, out)});

  PackFunc pack;
  if (!row.batch.empty()) pack.batch = {batch};
  pack.k = {k};
  pack.n = row.n;
  pack.layout = func.rhs;
  const std::int64_t packed = PackedElements(pack).constant();
  const std::int64_t copies =
      warm ? 1
           : std::clamp<std::int64_t>(kColdBytes / (packed * SizeInBytes(func.rhs.dtype)), 1, 16);
  Memory lhs(dtype, batch * lhs_elements);
  Memory out_memory(dtype, batch * m * row.n);
  Memory bias(dtype, row.n);
  std::vector<std::unique_ptr<Memory>> rhs;
  std::vector<std::vector<void*>> buffers;
  for (std::int64_t i = 0; i < copies; ++i) {
    rhs.push_back(std::make_unique<Memory>(func.rhs.dtype, packed));
    buffers.push_back({lhs.data(), rhs.back()->data(), out_memory.data(), bias.data()});
  }
  std::string name = row.name;
  if (numerics != Numerics::kHighest) name += " " + std::string(Name(numerics));
  Measure(name, dtype, target, func, 2.0 * static_cast<double>(batch * m * row.n * k), buffers);
}

void MeasureAttention(const std::string& name, std::int64_t heads, std::int64_t size,
                      std::int64_t dim, bool causal, DType dtype, const Target& target) {
  AttentionFunc func;
  func.batch = 1;
  func.heads = func.kv_heads = heads;
  func.queries = func.keys = size;
  func.head_dim = func.value_dim = dim;
  func.scale = 0.125;
  func.causal = causal;
  for (AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out}) {
    operand->dtype = dtype;
    operand->strides = {heads * size * dim, dim, heads * dim, 1};
  }
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<void*> buffers;
  for (int i = 0; i < 4; ++i) {
    memory.push_back(std::make_unique<Memory>(dtype, heads * size * dim));
    buffers.push_back(memory.back()->data());
  }
  Measure("attention " + name, dtype, target, func,
          4.0 * static_cast<double>(heads * size * size * dim), {buffers});
}

void MeasurePack(std::int64_t n, std::int64_t k, bool nk, DType dtype, const Target& target) {
  PackFunc pack;
  pack.k = {k};
  pack.n = n;
  pack.source = At(0, dtype, nk ? Affine({{0, 1}, {1, k}}) : Affine({{0, n}, {1, 1}}));
  pack.layout = MachineOf(target).value()->LayoutOf({dtype, Numerics::kHighest, 128, n, k}).rhs;
  Memory source(dtype, n * k);
  Memory packed(pack.layout.dtype, PackedElements(pack).constant());
  // "Flops" here are bytes read and written.
  Measure(std::string("pack, GB/s ") + (nk ? "[n, k]" : "[k, n]"), dtype, target, pack,
          static_cast<double>(n * k * (SizeInBytes(dtype) + SizeInBytes(pack.layout.dtype))),
          {{source.data(), packed.data()}});
}

std::string Processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "?";
}

int Main(const std::string& filter, const Target& target, bool warm) {
  std::printf("%s, target %s, %s\n", Processor().c_str(), target.ToString().c_str(),
              CodegenVersion().c_str());
  const auto wanted = [&](const std::string& name) {
    return name.find(filter) != std::string::npos;
  };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    std::printf("%s: peak %.1f GF/s\n", std::string(Name(dtype)).c_str(),
                PeakGflops(dtype, target));
    for (const Row& row : Rows()) {
      for (const Numerics numerics : {Numerics::kHighest, Numerics::kHigh, Numerics::kMedium}) {
        const bool reads_numerics = dtype == DType::kF32 && row.m.size() == 1;
        if (numerics != Numerics::kHighest && !reads_numerics) continue;
        if (wanted(row.name)) MeasureContraction(row, dtype, numerics, target, warm);
      }
    }
    if (wanted("attention")) {
      MeasureAttention("gpt2 12x128x64 causal", 12, 128, 64, true, dtype, target);
      MeasureAttention("bert 12x128x64", 12, 128, 64, false, dtype, target);
      MeasureAttention("vit 12x197x64", 12, 197, 64, false, dtype, target);
      MeasureAttention("12x512x64", 12, 512, 64, false, dtype, target);
    }
    if (wanted("pack")) {
      MeasurePack(3072, 768, true, dtype, target);
      MeasurePack(3072, 768, false, dtype, target);
    }
  }
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  // Also asks the kernel for the use of AMX.
  stoker::Target target = stoker::Target::Host().value();
  if (argc > 2) target = stoker::Target::Parse(argv[2]).value();
  return stoker::Main(argc > 1 ? argv[1] : "", target, argc > 3);
}
