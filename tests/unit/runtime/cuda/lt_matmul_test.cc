// Matmuls of plans as cuBLASLt is asked for them, beside sums in double.
#include "runtime/cuda/lt_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "protocol/base/float16.h"
#include "tests/unit/runtime/cuda/fake_cublas_lt.h"
#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kWorkspaceBytes = 4096;

double Get(const std::byte* at, DType dtype) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (dtype == DType::kF64) return read(0.0);
  if (dtype == DType::kF32) return static_cast<double>(read(0.0F));
  const std::uint16_t bits = read(std::uint16_t{0});
  return static_cast<double>(dtype == DType::kF16 ? FloatFromF16(bits) : FloatFromBF16(bits));
}

void Put(std::byte* at, DType dtype, double value) {
  const auto write = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::kF64) return write(value);
  if (dtype == DType::kF32) return write(narrow);
  write(dtype == DType::kF16 ? F16FromFloat(narrow) : BF16FromFloat(narrow));
}

double EpsilonOf(DType dtype) {
  if (dtype == DType::kF64) return 1e-14;
  if (dtype == DType::kF32) return 1e-6;
  return dtype == DType::kF16 ? 2e-3 : 1e-2;
}

// Memory of one operand, with a matrix from element `offset` on.
struct OperandMemory {
  DeviceMemory memory;
  DType dtype = DType::kF32;
  MatmulMatrix<std::int64_t, SizedBuffer> matrix;
  bool by_columns = false;

  std::byte* at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    if (by_columns) std::swap(row, column);
    const std::int64_t element =
        matrix.offset + batch * matrix.batch_stride + row * matrix.leading + column;
    return memory.data() + element * SizeInBytes(dtype);
  }
  double Value(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return Get(at(batch, row, column), dtype);
  }
};

class LtMatmulTest : public FakeDriverTest {
 protected:
  LtMatmulTest() {
    FakeLt().reset();
    device_ = Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
    queue_ = Queue::Create(*device_).value();
    memory_.resize(5);
  }
  ~LtMatmulTest() override {
    memory_.clear();
    list_.reset();
    queue_.reset();
    device_.reset();
    EXPECT_EQ(FakeLt().live(), 0) << "Something is not given back.";
  }

  std::int64_t Below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_);
  }

  // Operands are outputs 0 (A) to 4 (bias), the workspace is the arena.
  OperandMemory MakeOperand(std::uint32_t number, DType dtype, std::int64_t batch,
                            std::int64_t rows, std::int64_t columns, bool by_columns,
                            bool is_shared) {
    OperandMemory made;
    made.dtype = dtype;
    made.by_columns = by_columns;
    const std::int64_t lines = by_columns ? columns : rows;
    const std::int64_t length = by_columns ? rows : columns;
    made.matrix.offset = Below(3);
    made.matrix.leading = length + Below(3);
    made.matrix.batch_stride = is_shared ? 0 : lines * made.matrix.leading + Below(4);
    const std::int64_t elements = made.matrix.offset + batch * made.matrix.batch_stride +
                                  (lines + 1) * made.matrix.leading + length + 1;
    const std::int64_t bytes = elements * SizeInBytes(dtype);
    made.matrix.place = {BufferKind::kOutput, number, 0, bytes};
    made.memory = device_->Allocate(bytes).value();
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < elements; ++i) {
      Put(made.memory.data() + i * SizeInBytes(dtype), dtype, normal(random_));
    }
    return made;
  }

  SizedMatmul MatmulOf(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                       DType factor, DType result) {
    SizedMatmul matmul;
    matmul.batch = batch;
    matmul.m = m;
    matmul.n = n;
    matmul.k = k;
    matmul.factor = factor;
    matmul.result = result;
    matmul.compute = factor == DType::kF64 ? MatmulCompute::kF64 : MatmulCompute::kF32;
    matmul.workspace = {BufferKind::kArena, 0, 0, kWorkspaceBytes};
    return matmul;
  }

  // Of any strides, transposes, shared batches and epilogues.
  SizedMatmul RandomMatmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                           DType factor, DType result) {
    SizedMatmul matmul = MatmulOf(batch, m, n, k, factor, result);
    matmul.a_by_columns = Below(2) == 0;
    matmul.b_by_columns = Below(2) == 0;
    matmul.alpha = Below(2) == 0 ? 1 : 0.25;
    memory_[0] = MakeOperand(0, factor, batch, m, k, matmul.a_by_columns, Below(4) == 0);
    memory_[1] = MakeOperand(1, factor, batch, k, n, matmul.b_by_columns, Below(4) == 0);
    memory_[2] = MakeOperand(2, result, batch, m, n, false, false);
    matmul.a = memory_[0].matrix;
    matmul.b = memory_[1].matrix;
    matmul.d = memory_[2].matrix;
    if (Below(2) == 0) {
      matmul.beta = Below(2) == 0 ? 1 : -2;
      memory_[3] = MakeOperand(3, result, batch, m, n, false, Below(4) == 0);
      matmul.c = memory_[3].matrix;
    }
    if (factor != DType::kF64 && Below(2) == 0) {
      memory_[4] = MakeOperand(4, result, 1, 1, n, false, true);
      matmul.bias = {memory_[4].matrix.place, memory_[4].matrix.offset};
    }
    if (factor != DType::kF64 && Below(2) == 0) matmul.activation = MatmulActivation::kRelu;
    return matmul;
  }

  std::vector<double> Expected(const SizedMatmul& matmul) const {
    std::vector<double> expected;
    for (std::int64_t batch = 0; batch < matmul.batch; ++batch) {
      for (std::int64_t row = 0; row < matmul.m; ++row) {
        for (std::int64_t column = 0; column < matmul.n; ++column) {
          double sum = 0;
          for (std::int64_t i = 0; i < matmul.k; ++i) {
            sum += memory_[0].Value(batch, row, i) * memory_[1].Value(batch, i, column);
          }
          double value = matmul.alpha * sum;
          if (matmul.c) value += matmul.beta * memory_[3].Value(batch, row, column);
          if (matmul.bias) value += memory_[4].Value(0, 0, column);
          if (matmul.activation == MatmulActivation::kRelu) value = std::max(value, 0.0);
          expected.push_back(value);
        }
      }
    }
    return expected;
  }

  Status Run(const SizedMatmul& matmul) {
    SizedLibraryCall call;
    call.matmul = matmul;
    const std::vector<SizedWork> work = {call};
    STOKER_TRY(list_,
               device_->Ready(work, {}, {BufferKind::kArena, kWorkspaceBytes, 0, 1}, layout_, {}));
    std::vector<std::byte*> addresses(layout_.size());
    for (std::uint32_t i = 0; i < memory_.size(); ++i) {
      addresses[layout_.IndexOf(BufferKind::kOutput, i)] = memory_[i].memory.data();
    }
    STOKER_RETURN_IF_ERROR(queue_->Run(*list_, addresses, nullptr, nullptr));
    return queue_->Wait();
  }

  // Of 2 x 2 matrices, each at a multiple of 16 bytes.
  SizedMatmul AlignedMatmul() {
    SizedMatmul matmul = MatmulOf(1, 2, 2, 2, DType::kF32, DType::kF32);
    for (std::uint32_t i = 0; i < 3; ++i) {
      memory_[i] = MakeOperand(i, DType::kF32, 1, 2, 2, false, true);
      memory_[i].matrix.offset = 0;
    }
    matmul.a = memory_[0].matrix;
    matmul.b = memory_[1].matrix;
    matmul.d = memory_[2].matrix;
    return matmul;
  }

  void ExpectRight(const SizedMatmul& matmul) {
    const std::vector<double> expected = Expected(matmul);
    const Status status = Run(matmul);
    ASSERT_TRUE(status.ok()) << status.error().message;
    std::size_t next = 0;
    for (std::int64_t batch = 0; batch < matmul.batch; ++batch) {
      for (std::int64_t row = 0; row < matmul.m; ++row) {
        for (std::int64_t column = 0; column < matmul.n; ++column) {
          const double want = expected[next++];
          const double error = EpsilonOf(matmul.result) * (4 + std::abs(want));
          ASSERT_NEAR(memory_[2].Value(batch, row, column), want, error);
        }
      }
    }
  }

  std::mt19937_64 random_{1};
  const AddressLayout layout_{0, 5, 0};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<const stoker::LaunchList> list_;
  std::vector<OperandMemory> memory_;
};

TEST_F(LtMatmulTest, Run_ShapesTypesStridesEpilogues_AreWhatTheySay) {
  constexpr std::pair<DType, DType> kTypes[] = {
      {DType::kF32, DType::kF32},  {DType::kF64, DType::kF64}, {DType::kBF16, DType::kBF16},
      {DType::kBF16, DType::kF32}, {DType::kF16, DType::kF16}, {DType::kF16, DType::kF32}};
  constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 7, 16, 33};
  for (int i = 0; i < 600; ++i) {
    const auto [factor, result] = kTypes[i % 6];
    const auto size = [&] { return kSizes[Below(7)]; };
    const std::int64_t batch = Below(3) == 0 ? Below(4) : 1;
    ExpectRight(RandomMatmul(batch, size(), size(), size(), factor, result));
    if (HasFatalFailure()) FAIL() << "at " << i;
  }
}

TEST_F(LtMatmulTest, Run_CIsD_AddsInPlace) {
  SizedMatmul matmul = RandomMatmul(2, 5, 6, 7, DType::kF32, DType::kF32);
  matmul.beta = 1;
  matmul.c = matmul.d;
  memory_[3].matrix = matmul.d;
  memory_[3].dtype = DType::kF32;
  memory_[3].memory = device_->Allocate(matmul.d.place.size).value();
  std::memcpy(memory_[3].memory.data(), memory_[2].memory.data(),
              static_cast<std::size_t>(matmul.d.place.size));
  ExpectRight(matmul);
}

TEST_F(LtMatmulTest, Run_Tf32_ReadsFewerDigits) {
  SizedMatmul matmul = MatmulOf(1, 1, 1, 1, DType::kF32, DType::kF32);
  matmul.compute = MatmulCompute::kTf32;
  for (std::uint32_t i = 0; i < 3; ++i) {
    memory_[i] = MakeOperand(i, DType::kF32, 1, 1, 1, false, true);
  }
  matmul.a = memory_[0].matrix;
  matmul.b = memory_[1].matrix;
  matmul.d = memory_[2].matrix;
  Put(memory_[0].at(0, 0, 0), DType::kF32, 1 + 1.0 / 4096);
  Put(memory_[1].at(0, 0, 0), DType::kF32, 1);
  ASSERT_TRUE(Run(matmul).ok());
  EXPECT_EQ(memory_[2].Value(0, 0, 0), 1);
}

TEST_F(LtMatmulTest, Ready_NothingToCompute_AsksNobody) {
  ASSERT_TRUE(Run(RandomMatmul(1, 0, 3, 4, DType::kF32, DType::kF32)).ok());
  EXPECT_EQ(FakeLt().heuristics(), 0);
  EXPECT_EQ(std::string(FakeLt().matmuls()), "");
}

TEST_F(LtMatmulTest, Ready_SumOfNothingInSmallWorkspace_NamesTheBytes) {
  SizedMatmul matmul = RandomMatmul(1, 2000, 3, 0, DType::kF32, DType::kF32);
  const Status status = Run(matmul);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("a workspace of 8192 bytes; it has 4096"));
}

TEST_F(LtMatmulTest, Ready_SameSizes_ShareAnAlgorithmAcrossPlans) {
  const SizedMatmul matmul = RandomMatmul(1, 4, 5, 6, DType::kBF16, DType::kBF16);
  SizedLibraryCall call;
  call.matmul = matmul;
  const std::vector<SizedWork> work = {call, call};
  const ArenaUse arena{BufferKind::kArena, kWorkspaceBytes, 0, 1};
  const auto first = device_->Ready(work, {}, arena, layout_, {}).value();
  const int asked = FakeLt().heuristics();
  EXPECT_EQ(asked, 1);
  call.matmul.alpha = 3;
  call.matmul.d.place.index = 4;
  const std::vector<SizedWork> again = {call};
  const auto second = device_->Ready(again, {}, arena, layout_, {}).value();
  EXPECT_EQ(FakeLt().heuristics(), asked);
  call.matmul.a.leading += 8;
  const std::vector<SizedWork> other = {call};
  const auto third = device_->Ready(other, {}, arena, layout_, {}).value();
  EXPECT_EQ(FakeLt().heuristics(), asked + 1);
}

TEST_F(LtMatmulTest, Ready_SeveralProducts_AsksForEachOnce) {
  std::vector<SizedWork> work;
  for (std::int64_t n = 1; n < 40; ++n) {
    SizedLibraryCall call;
    call.matmul = RandomMatmul(1, 4, n / 2 + 1, 6, DType::kBF16, DType::kBF16);
    work.emplace_back(call);
  }
  std::set<Digest> names;
  for (const SizedWork& each : work) {
    names.insert(LtMatmul::NameOf(std::get<SizedLibraryCall>(each).matmul));
  }
  const int asked = FakeLt().heuristics();
  const ArenaUse arena{BufferKind::kArena, kWorkspaceBytes, 0, 1};
  const auto list = device_->Ready(work, {}, arena, layout_, {});
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(FakeLt().heuristics() - asked, static_cast<int>(names.size()));
}

TEST_F(LtMatmulTest, Ready_OneOfSeveralProductsHasNoAlgorithm_NamesIt) {
  FakeLt().set_least_alignment(64);
  std::vector<SizedWork> work;
  for (const std::int64_t n : {3, 4}) {
    SizedLibraryCall call;
    call.matmul = RandomMatmul(1, n, 5, 6, DType::kBF16, DType::kBF16);
    work.emplace_back(call);
  }
  const ArenaUse arena{BufferKind::kArena, kWorkspaceBytes, 0, 1};
  const auto list = device_->Ready(work, {}, arena, layout_, {});
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().message,
            "cuBLASLt has no algorithm for a matmul of 1 x 3x5x6 bf16 to bf16.");
}

// Else long sums of few results are one chain each: slow, and off by as much.
TEST_F(LtMatmulTest, Ready_PartsOfSums_AreRoundedToNarrowResultsOnce) {
  for (const auto& [result, schemes] : {std::pair{DType::kBF16, kLtReductionInComputeType},
                                        {DType::kF16, kLtReductionInComputeType},
                                        {DType::kF32, kLtReductionsInAllTypes},
                                        {DType::kF64, kLtReductionsInAllTypes}}) {
    ExpectRight(RandomMatmul(1, 4, 5, 6, result, result));
    EXPECT_EQ(FakeLt().reductions(), schemes) << Name(result);
  }
}

TEST_F(LtMatmulTest, Ready_NoAlgorithm_NamesTheProduct) {
  FakeLt().set_least_alignment(64);
  const Status status = Run(RandomMatmul(2, 4, 5, 6, DType::kBF16, DType::kF32));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(status.error().message,
            "cuBLASLt has no algorithm for a matmul of 2 x 4x5x6 bf16 to f32.");
}

TEST_F(LtMatmulTest, Run_Unaligned_AsksWhenItIsNeededAndOnce) {
  SizedMatmul matmul = AlignedMatmul();
  ExpectRight(matmul);
  const int asked = FakeLt().heuristics();
  matmul.b.offset = 1;
  ASSERT_TRUE(Run(matmul).ok());
  EXPECT_EQ(FakeLt().heuristics(), asked + 1);
  ASSERT_TRUE(Run(matmul).ok());
  EXPECT_EQ(FakeLt().heuristics(), asked + 1);
}

TEST_F(LtMatmulTest, Run_NoAlgorithmForUnaligned_SaysSoThereAlone) {
  FakeLt().set_least_alignment(16);
  SizedMatmul matmul = AlignedMatmul();
  ExpectRight(matmul);
  matmul.b.offset = 1;
  const Status status = Run(matmul);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("that lie at no multiple of 16 bytes"));
}

TEST_F(LtMatmulTest, Run_LibraryFails_NamesProductAndStatus) {
  const SizedMatmul matmul = RandomMatmul(1, 4, 5, 6, DType::kF32, DType::kF32);
  FakeLt().fail("cublasLtMatmul", 7);
  const Status status = Run(matmul);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "cublasLtMatmul of a matmul of 1 x 4x5x6 f32 to f32: CUBLAS_STATUS_INVALID_VALUE.");
}

TEST_F(LtMatmulTest, LoadLibrary_NotThere_NamesItAndWhereItWasSought) {
  const auto device = Device::Create(0, STOKER_FAKE_CUDA, {"/nowhere/libcublasLt.so.13"}).value();
  const Status status = device->LoadLibrary(Library::kCublasLt);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.error().message,
              HasSubstr("Matrix products on a GPU need cuBLASLt (libcublasLt.so.13), which is not "
                        "found."));
  EXPECT_THAT(status.error().message, HasSubstr("/nowhere/libcublasLt.so.13"));
}

TEST_F(LtMatmulTest, LoadLibrary_OneThatIsNone_IsPassedOver) {
  const auto device =
      Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUDA, STOKER_FAKE_CUBLAS_LT}).value();
  EXPECT_TRUE(device->LoadLibrary(Library::kCublasLt).ok());
}

TEST_F(LtMatmulTest, LoadLibrary_NoHandle_SaysWhy) {
  FakeLt().fail("cublasLtCreate", 1);
  const Status status = device_->LoadLibrary(Library::kCublasLt);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(status.error().message,
            "cuBLASLt cannot be used on this GPU: cublasLtCreate: CUBLAS_STATUS_NOT_INITIALIZED.");
  FakeLt().fail("cublasLtCreate", 0);
  EXPECT_TRUE(device_->LoadLibrary(Library::kCublasLt).ok());
}

TEST_F(LtMatmulTest, WarmUp_AsksTheLibraryOnceAndKeepsNoProduct) {
  const auto device = Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
  const int asked = FakeLt().heuristics();
  const int live = FakeLt().live();
  ASSERT_TRUE(device->WarmUp().ok());
  EXPECT_GT(FakeLt().heuristics(), asked);
  EXPECT_EQ(FakeLt().live(), live + 1);  // The handle.
}

TEST_F(LtMatmulTest, WarmUp_NoLibrary_NamesIt) {
  const auto device = Device::Create(0, STOKER_FAKE_CUDA, {"/nowhere/libcublasLt.so.13"}).value();
  const Status status = device->WarmUp();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(LtMatmulTest, Threads_OneMatmulWithBias_EachSeesItsOwn) {
  SizedMatmul matmul = MatmulOf(1, 2, 8, 3, DType::kF32, DType::kF32);
  for (std::uint32_t i = 0; i < 3; ++i) {
    memory_[i] = MakeOperand(i, DType::kF32, 1, 8, 8, false, true);
  }
  matmul.a = memory_[0].matrix;
  matmul.b = memory_[1].matrix;
  matmul.d = memory_[2].matrix;
  matmul.bias = {{BufferKind::kOutput, 4, 0, 32}, 0};
  SizedLibraryCall call;
  call.matmul = matmul;
  const std::vector<SizedWork> work = {call};
  const auto list =
      device_->Ready(work, {}, {BufferKind::kArena, kWorkspaceBytes, 0, 1}, layout_, {}).value();
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto queue = Queue::Create(*device_).value();
      const DeviceMemory out = device_->Allocate(matmul.d.place.size).value();
      const DeviceMemory bias = device_->Allocate(32).value();
      for (int i = 0; i < 8; ++i) {
        Put(bias.data() + i * 4, DType::kF32, 1000.0 * static_cast<double>(t + 1));
      }
      std::vector<std::byte*> addresses(layout_.size());
      addresses[layout_.IndexOf(BufferKind::kOutput, 0)] = memory_[0].memory.data();
      addresses[layout_.IndexOf(BufferKind::kOutput, 1)] = memory_[1].memory.data();
      addresses[layout_.IndexOf(BufferKind::kOutput, 2)] = out.data();
      addresses[layout_.IndexOf(BufferKind::kOutput, 4)] = bias.data();
      right[t] = true;
      for (int i = 0; i < 50; ++i) {
        const bool ok = queue->Run(*list, addresses, nullptr, nullptr).ok() && queue->Wait().ok();
        const double first = Get(out.data() + matmul.d.offset * 4, DType::kF32);
        right[t] = right[t] && ok && std::abs(first / 1000 - static_cast<double>(t + 1)) < 0.1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(true));
}

}  // namespace
}  // namespace stoker::cuda
