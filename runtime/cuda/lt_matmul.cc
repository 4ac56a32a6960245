#include "runtime/cuda/lt_matmul.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "protocol/artifact/kernel_abi.h"
#include "protocol/base/bytes.h"

namespace stoker::cuda {
namespace {

// From here on no algorithm gains anything.
constexpr int kAlignment = 16;

// Plans align to less.
std::int64_t Aligned(std::int64_t bytes) {
  constexpr std::int64_t kUnit = LtMatmul::kWorkspaceAlignment;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

int TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return kLtR64F;
    case DType::kF16:
      return kLtR16F;
    case DType::kBF16:
      return kLtR16BF;
    case DType::kF32:
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      break;
  }
  return kLtR32F;  // The decoder lets no integers through.
}

int ComputeOf(MatmulCompute compute) {
  switch (compute) {
    case MatmulCompute::kF32:
      return kLtCompute32F;
    case MatmulCompute::kTf32:
      return kLtCompute32FFastTf32;
    case MatmulCompute::kF64:
      break;
  }
  return kLtCompute64F;
}

std::uint32_t EpilogueOf(const SizedMatmul& matmul) {
  std::uint32_t epilogue = 0;
  if (matmul.activation == MatmulActivation::kRelu) epilogue |= kLtEpilogueRelu;
  if (matmul.bias) epilogue |= kLtEpilogueBias;
  return epilogue == 0 ? kLtEpilogueDefault : epilogue;
}

// alpha or beta in the type that the library reads it in.
struct Scale {
  Scale(double value, MatmulCompute compute)
      : wide(value), narrow(static_cast<float>(value)), is_wide(compute == MatmulCompute::kF64) {}
  const void* at() const { return is_wide ? static_cast<const void*>(&wide) : &narrow; }

  double wide;
  float narrow;
  bool is_wide;
};

}  // namespace

LtMatmul::LtMatmul(std::shared_ptr<const CublasLt> lt, const SizedMatmul& matmul)
    : lt_(std::move(lt)), matmul_(matmul) {
  // What lies before the first aligned byte is lost.
  matmul_.workspace.size =
      std::max<std::int64_t>(0, matmul.workspace.size - (kWorkspaceAlignment - kBufferAlignment));
  if (matmul.k > 0) return;
  // A sum of nothing. The library takes no matrices without elements: a product of zeros is one.
  matmul_.k = 1;
  matmul_.a = {matmul.workspace, 0, 1, 0};
  matmul_.b = {matmul.workspace, 0, matmul.n, 0};
  matmul_.a_by_columns = false;
  matmul_.b_by_columns = false;
  const std::int64_t most = std::max(matmul.m, matmul.n) * SizeInBytes(matmul.factor);
  zero_bytes_ = static_cast<std::size_t>(Aligned(most));
  matmul_.workspace.size -= static_cast<std::int64_t>(zero_bytes_);
}

LtMatmul::~LtMatmul() {
  const CublasLtApi& api = lt_->api();
  for (const LtLayout layout : {a_, b_, c_, d_}) {
    if (layout != nullptr) api.destroy_layout(layout);
  }
  if (desc_ != nullptr) api.destroy_desc(desc_);
}

Digest LtMatmul::NameOf(const SizedMatmul& matmul) {
  ByteWriter out;
  for (const std::int64_t size : {matmul.batch, matmul.m, matmul.n, matmul.k}) out.I64(size);
  out.U8(static_cast<std::uint8_t>(matmul.factor));
  out.U8(static_cast<std::uint8_t>(matmul.result));
  out.U8(static_cast<std::uint8_t>(matmul.compute));
  out.U8(static_cast<std::uint8_t>(matmul.activation));
  out.U8(static_cast<std::uint8_t>((matmul.a_by_columns ? 1 : 0) + (matmul.b_by_columns ? 2 : 0) +
                                   (matmul.c ? 4 : 0) + (matmul.bias ? 8 : 0)));
  const auto& c = matmul.c ? *matmul.c : matmul.d;
  for (const auto* matrix : {&matmul.a, &matmul.b, &matmul.d, &c}) {
    out.I64(matrix->leading);
    out.I64(matrix->batch_stride);
  }
  out.I64(matmul.workspace.size);
  return Sha256Of(out.str());
}

Result<std::shared_ptr<const LtMatmul>> LtMatmul::Make(std::shared_ptr<const CublasLt> lt,
                                                       const SizedMatmul& matmul) {
  STOKER_CHECK(HasElements(matmul));
  std::shared_ptr<LtMatmul> made(new LtMatmul(std::move(lt), matmul));
  STOKER_TRY(const Context::Current current, made->lt_->context().MakeCurrent());
  if (made->matmul_.workspace.size < 0) {
    return Unimplemented("The sum of nothing in " + made->Text() + " needs a workspace of " +
                         std::to_string(made->zero_bytes_) + " bytes; it has " +
                         std::to_string(matmul.workspace.size) + ".");
  }
  STOKER_RETURN_IF_ERROR(made->MakeDescriptors());
  STOKER_TRY(made->aligned_, made->Ask(kAlignment, kAlignment, made->matmul_.workspace.size));
  if (!made->aligned_) {
    STOKER_TRY(made->aligned_, made->AskUnaligned(made->matmul_.workspace.size));
  }
  if (!made->aligned_) {
    return Unimplemented("cuBLASLt has no algorithm for " + made->Text() + ".");
  }
  made->algorithm_bytes_ = static_cast<std::int64_t>(made->aligned_->workspace_bytes);
  return std::shared_ptr<const LtMatmul>(std::move(made));
}

Status LtMatmul::MakeLayout(int type, std::int64_t rows, std::int64_t columns,
                            const MatmulMatrix<std::int64_t, SizedBuffer>& matrix,
                            LtLayout* layout) const {
  const CublasLtApi& api = lt_->api();
  // Nobody asks how far from one line the next is, but the library chooses by it.
  const bool is_line = columns == 1 && matmul_.batch == 1;
  const std::int64_t leading = is_line ? Aligned(rows) : std::max(matrix.leading, rows);
  STOKER_RETURN_IF_ERROR(
      lt_->Check(api.create_layout(layout, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), leading),
                 "cublasLtMatrixLayoutCreate"));
  if (matmul_.batch == 1) return Ok();
  const auto count = static_cast<std::int32_t>(matmul_.batch);
  STOKER_RETURN_IF_ERROR(
      lt_->Check(api.set_layout(*layout, kLtLayoutBatchCount, &count, sizeof count),
                 "cublasLtMatrixLayoutSetAttribute BATCH_COUNT"));
  return lt_->Check(api.set_layout(*layout, kLtLayoutBatchStride, &matrix.batch_stride,
                                   sizeof matrix.batch_stride),
                    "cublasLtMatrixLayoutSetAttribute STRIDED_BATCH_OFFSET");
}

Status LtMatmul::MakeDescriptors() {
  const CublasLtApi& api = lt_->api();
  const int factor = TypeOf(matmul_.factor);
  const int result = TypeOf(matmul_.result);
  const int scale = matmul_.compute == MatmulCompute::kF64 ? kLtR64F : kLtR32F;
  STOKER_RETURN_IF_ERROR(lt_->Check(api.create_desc(&desc_, ComputeOf(matmul_.compute), scale),
                                    "cublasLtMatmulDescCreate"));
  const auto set = [&](int attribute, auto value) {
    return lt_->Check(api.set_desc(desc_, attribute, &value, sizeof value),
                      "cublasLtMatmulDescSetAttribute " + std::to_string(attribute));
  };
  // What lies by rows is, by columns, its transpose: D by rows is (A x B) transposed by columns,
  // which is B transposed times A transposed. A factor by columns is transposed once more.
  if (matmul_.b_by_columns) STOKER_RETURN_IF_ERROR(set(kLtDescTransA, kLtOperationT));
  if (matmul_.a_by_columns) STOKER_RETURN_IF_ERROR(set(kLtDescTransB, kLtOperationT));
  STOKER_RETURN_IF_ERROR(set(kLtDescEpilogue, EpilogueOf(matmul_)));
  const std::int64_t m = matmul_.m;
  const std::int64_t n = matmul_.n;
  const std::int64_t k = matmul_.k;
  STOKER_RETURN_IF_ERROR(matmul_.b_by_columns ? MakeLayout(factor, k, n, matmul_.b, &a_)
                                              : MakeLayout(factor, n, k, matmul_.b, &a_));
  STOKER_RETURN_IF_ERROR(matmul_.a_by_columns ? MakeLayout(factor, m, k, matmul_.a, &b_)
                                              : MakeLayout(factor, k, m, matmul_.a, &b_));
  STOKER_RETURN_IF_ERROR(MakeLayout(result, n, m, matmul_.c ? *matmul_.c : matmul_.d, &c_));
  return MakeLayout(result, n, m, matmul_.d, &d_);
}

Result<std::optional<LtHeuristic>> LtMatmul::AskUnaligned(std::int64_t workspace_bytes) const {
  return Ask(SizeInBytes(matmul_.factor), SizeInBytes(matmul_.result), workspace_bytes);
}

Result<std::optional<LtHeuristic>> LtMatmul::Unaligned() const {
  if (!unaligned_) {
    STOKER_TRY(unaligned_, AskUnaligned(algorithm_bytes_));
  }
  return *unaligned_;
}

Result<std::optional<LtHeuristic>> LtMatmul::Ask(int factor, int result,
                                                 std::int64_t workspace_bytes) const {
  const CublasLtApi& api = lt_->api();
  LtPreference preference = nullptr;
  STOKER_RETURN_IF_ERROR(
      lt_->Check(api.create_preference(&preference), "cublasLtMatmulPreferenceCreate"));
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque, int (*)(LtPreference)> owner(
      preference, api.destroy_preference);
  const auto set = [&](int attribute, auto value) {
    return lt_->Check(api.set_preference(preference, attribute, &value, sizeof value),
                      "cublasLtMatmulPreferenceSetAttribute " + std::to_string(attribute));
  };
  STOKER_RETURN_IF_ERROR(set(kLtPreferWorkspaceBytes, static_cast<std::uint64_t>(workspace_bytes)));
  // Parts of a sum are added up in f32, not in the result's 16 bits.
  STOKER_RETURN_IF_ERROR(
      set(kLtPreferReductionSchemes, SizeInBytes(matmul_.result) < SizeInBytes(DType::kF32)
                                         ? kLtReductionInComputeType
                                         : kLtReductionsInAllTypes));
  for (int i = 0; i < 4; ++i) {  // A, B, C, D.
    const auto alignment = static_cast<std::uint32_t>(i < 2 ? factor : result);
    STOKER_RETURN_IF_ERROR(set(kLtPreferAlignmentA + i, alignment));
  }
  // Only how it is aligned is looked at.
  if (matmul_.bias) {
    STOKER_RETURN_IF_ERROR(
        SetBias(reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(result))));
  }
  LtHeuristic best{};
  int found = 0;
  const int status =
      api.heuristic(lt_->handle(), desc_, a_, b_, c_, d_, preference, 1, &best, &found);
  if (status == kLtNotSupported) return std::optional<LtHeuristic>();
  STOKER_RETURN_IF_ERROR(lt_->Check(status, "cublasLtMatmulAlgoGetHeuristic for " + Text()));
  if (found == 0 || best.state != kLtSuccess) return std::optional<LtHeuristic>();
  return std::optional<LtHeuristic>(best);
}

Status LtMatmul::SetBias(const std::byte* bias) const {
  return lt_->Check(lt_->api().set_desc(desc_, kLtDescBiasPointer, &bias, sizeof bias),
                    "cublasLtMatmulDescSetAttribute BIAS_POINTER");
}

std::string LtMatmul::Text() const {
  return "a matmul of " + std::to_string(matmul_.batch) + " x " + std::to_string(matmul_.m) + "x" +
         std::to_string(matmul_.n) + "x" + std::to_string(matmul_.k) + " " +
         std::string(Name(matmul_.factor)) + " to " + std::string(Name(matmul_.result));
}

Status LtMatmul::Run(const Operands& operands, double alpha, double beta, CuStream stream) const {
  Operands at = operands;
  const auto workspace = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at.workspace));
  at.workspace += Aligned(workspace) - workspace;
  if (zero_bytes_ > 0) {
    const auto zeros = static_cast<CuPointer>(reinterpret_cast<std::uintptr_t>(at.workspace));
    STOKER_RETURN_IF_ERROR(lt_->context().Check(
        lt_->context().api().fill(zeros, 0, zero_bytes_, stream), "Zeros of a sum of nothing"));
    at.a = at.workspace;
    at.b = at.workspace;
    at.workspace += zero_bytes_;
  }
  if (at.c == nullptr) at.c = at.d;
  std::uintptr_t bits = 0;
  for (const std::byte* address :
       {at.a, at.b, at.c, static_cast<const std::byte*>(at.d), at.bias}) {
    bits |= reinterpret_cast<std::uintptr_t>(address);
  }
  const bool is_aligned = bits % std::uintptr_t{kAlignment} == 0;
  std::unique_lock<std::mutex> lock;
  if (matmul_.bias || !is_aligned) lock = std::unique_lock(mutex_);
  std::optional<LtHeuristic> how = aligned_;
  if (!is_aligned) {
    STOKER_TRY(how, Unaligned());
  }
  if (!how) {
    return Unimplemented("cuBLASLt has no algorithm for operands of " + Text() +
                         " that lie at no multiple of " + std::to_string(kAlignment) + " bytes.");
  }
  const Scale a(alpha, matmul_.compute);
  const Scale b(beta, matmul_.compute);
  if (matmul_.bias) STOKER_RETURN_IF_ERROR(SetBias(at.bias));
  return lt_->Check(
      lt_->api().matmul(lt_->handle(), desc_, a.at(), at.b, a_, at.a, b_, b.at(), at.c, c_, at.d,
                        d_, &how->algorithm, at.workspace, how->workspace_bytes, stream),
      "cublasLtMatmul of " + Text());
}

}  // namespace stoker::cuda
