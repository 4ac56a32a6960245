// Scans, sorts and scatters against plain C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/loop_interpreter.h"

namespace stoker {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class OrderedTest : public testing::TestWithParam<Target> {
 protected:
  static std::unique_ptr<LoadedKernel> Make(const KernelFunc& func) {
    auto kernel = LoadedKernel::Make(func, GetParam());
    EXPECT_TRUE(kernel.ok()) << kernel.error().message << "\n" << ToString(func);
    if (!kernel.ok()) return nullptr;
    return std::move(kernel).value();
  }

  // Small integers, exact in every dtype.
  std::vector<double> Values(std::int64_t count, int low = -9, int high = 9) {
    std::vector<double> values;
    std::uniform_int_distribution<int> uniform(low, high);
    for (std::int64_t i = 0; i < count; ++i) values.push_back(uniform(random_));
    return values;
  }

  std::mt19937 random_{5};
};

// A buffer of one dtype that ends at an unmapped page.
class Elements {
 public:
  Elements(DType dtype, const std::vector<double>& values)
      : dtype_(dtype), buffer_(values.size() * static_cast<std::size_t>(SizeInBytes(dtype))) {
    std::string bytes(buffer_.size(), '\0');
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto integer = std::isfinite(values[i]) ? static_cast<std::int64_t>(values[i]) : 0;
      WriteElement(bytes, dtype, static_cast<std::int64_t>(i), {values[i], integer});
    }
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(buffer_.data()));
  }
  Elements(DType dtype, std::int64_t count)
      : Elements(dtype, std::vector<double>(static_cast<std::size_t>(count), 0)) {}

  void* data() const { return buffer_.data(); }
  std::vector<double> Read() const {
    const std::string bytes(static_cast<const char*>(buffer_.data()), buffer_.size());
    std::vector<double> values;
    const auto count = static_cast<std::int64_t>(buffer_.size()) / SizeInBytes(dtype_);
    for (std::int64_t i = 0; i < count; ++i) {
      const ScalarValue value = ReadElement(bytes, dtype_, i);
      values.push_back(IsFloat(dtype_) ? value.real : static_cast<double>(value.integer));
    }
    return values;
  }

 private:
  DType dtype_;
  GuardedBuffer buffer_;
};

double CombineValues(ReduceKind kind, double x, double y) {
  if (kind == ReduceKind::kAdd) return x + y;
  if (kind == ReduceKind::kMultiply) return x * y;
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  return kind == ReduceKind::kMaximum ? std::max(x, y) : std::min(x, y);
}

TEST_P(OrderedTest, Scan_KindsDirectionsLayouts_MatchesSerialScan) {
  const std::int64_t rows = 5;
  for (const ReduceKind kind : {ReduceKind::kAdd, ReduceKind::kMaximum, ReduceKind::kMinimum}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kBF16}) {
      for (int options = 0; options < 8; ++options) {
        const bool reverse = (options & 1) != 0;
        const bool exclusive = (options & 2) != 0;
        const bool columns = (options & 4) != 0;  // Along the first dim in memory.
        for (const std::int64_t extent : {std::int64_t{1}, std::int64_t{9}, std::int64_t{50}}) {
          ScanFunc func;
          func.outer = {rows};
          const bool symbolic = extent == 50;
          func.extent = symbolic ? SymDim::Symbol(0) : SymDim(extent);
          func.kind = kind;
          func.dtype = ScanType(kind, dtype);
          func.exclusive = exclusive;
          IndexMap index =
              columns ? Affine({{0, 1}, {1, rows}}) : Affine({{0, func.extent}, {1, 1}});
          if (reverse) {
            SymDim& step = index.terms[1].coefficient;
            index.offset = step * (func.extent - SymDim(1));
            step = SymDim(0) - step;
          }
          func.input = At(0, dtype, index);
          func.output = At(1, dtype, index);
          auto kernel = Make(func);
          ASSERT_NE(kernel, nullptr);
          if (!kernel->Runs()) continue;
          std::vector<double> in = Values(rows * extent, -3, 3);
          if (IsFloat(dtype) && kind != ReduceKind::kAdd && extent > 20) in[17] = kNaN;
          const Elements x(dtype, in);
          const Elements y(dtype, rows * extent);
          kernel->Run({x.data(), y.data()}, {{0, extent}}, 2);
          std::vector<double> expected(in.size());
          const double lowest = dtype == DType::kI64 ? static_cast<double>(INT64_MIN)
                                                     : -std::numeric_limits<double>::infinity();
          const double highest = dtype == DType::kI64 ? static_cast<double>(INT64_MAX)
                                                      : std::numeric_limits<double>::infinity();
          for (std::int64_t row = 0; row < rows; ++row) {
            double sum = kind == ReduceKind::kAdd       ? 0
                         : kind == ReduceKind::kMaximum ? lowest
                                                        : highest;
            for (std::int64_t p = 0; p < extent; ++p) {
              const std::int64_t i = reverse ? extent - 1 - p : p;
              const auto at = static_cast<std::size_t>(columns ? i * rows + row : row * extent + i);
              const double next = CombineValues(kind, sum, in[at]);
              expected[at] = exclusive ? sum : next;
              sum = next;
            }
          }
          EXPECT_THAT(y.Read(), testing::Pointwise(testing::NanSensitiveDoubleEq(), expected))
              << ToString(func);
        }
      }
    }
  }
}

TEST_P(OrderedTest, Sort_EveryDType_IsStableWithNanLargest) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI64,
                            DType::kI32, DType::kI16, DType::kI8, DType::kU8, DType::kBool}) {
    for (const bool descending : {false, true}) {
      for (const std::int64_t extent : {1, 2, 3, 17, 64, 200}) {
        for (const std::int64_t keep :
             {std::int64_t{-1}, std::int64_t{1}, std::int64_t{5}, std::int64_t{100}}) {
          if (keep > extent) continue;
          const std::int64_t rows = 2;
          const std::int64_t kept = keep < 0 ? extent : keep;
          SortFunc func;
          func.outer = {rows};
          func.extent = extent;
          func.keep = keep;
          func.descending = descending;
          func.output_index = true;
          const IndexMap in = Affine({{0, extent}, {1, 1}});
          const IndexMap out = Affine({{0, kept}, {1, 1}});
          func.key = At(0, dtype, in);
          func.values = {At(1, DType::kI32, in)};
          func.outputs = {At(2, dtype, out), At(3, DType::kI32, out), At(4, DType::kI64, out)};
          auto kernel = Make(func);
          ASSERT_NE(kernel, nullptr);
          if (!kernel->Runs()) continue;
          const bool is_unsigned = dtype == DType::kU8 || dtype == DType::kBool;
          std::vector<double> keys =
              Values(rows * extent, is_unsigned ? 0 : -9, dtype == DType::kBool ? 1 : 9);
          if (IsFloat(dtype) && extent > 16) {
            keys[3] = kNaN;
            keys[11] = -kNaN;
            keys[5] = -0.0;
            keys[6] = std::numeric_limits<double>::infinity();
            keys[7] = -std::numeric_limits<double>::infinity();
          }
          std::vector<double> values = Values(rows * extent, -1000, 1000);
          const Elements key(dtype, keys);
          const Elements value(DType::kI32, values);
          const Elements sorted(dtype, rows * kept);
          const Elements carried(DType::kI32, rows * kept);
          const Elements positions(DType::kI64, rows * kept);
          kernel->Run({key.data(), value.data(), sorted.data(), carried.data(), positions.data()},
                      {}, 1);
          std::vector<double> want_positions;
          std::vector<double> want_values;
          std::vector<double> want_keys;
          for (std::int64_t row = 0; row < rows; ++row) {
            const auto at = [&](std::size_t i) {
              return static_cast<std::size_t>(row * extent) + i;
            };
            std::vector<std::size_t> order(static_cast<std::size_t>(extent));
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
              double x = keys[at(i)];
              double y = keys[at(j)];
              if (descending) std::swap(x, y);
              const auto rank = [](double v) { return std::isnan(v) ? 1 : 0; };
              if (rank(x) != rank(y)) return rank(x) < rank(y);
              return x == y || std::isnan(x) ? i < j : x < y;
            });
            for (std::size_t i = 0; i < static_cast<std::size_t>(kept); ++i) {
              want_positions.push_back(static_cast<double>(order[i]));
              want_values.push_back(values[at(order[i])]);
              want_keys.push_back(keys[at(order[i])]);
            }
          }
          EXPECT_THAT(positions.Read(), testing::ElementsAreArray(want_positions))
              << ToString(func);
          EXPECT_THAT(carried.Read(), testing::ElementsAreArray(want_values));
          EXPECT_THAT(sorted.Read(),
                      testing::Pointwise(testing::NanSensitiveDoubleEq(), want_keys));
        }
      }
    }
  }
}

// Rows of [updates, width] go to rows of [places, width]; places out of bounds are skipped.
TEST_P(OrderedTest, Scatter_RowsOfEveryKind_InOrder) {
  constexpr std::int64_t kUpdates = 23;
  constexpr std::int64_t kPlaces = 7;
  for (const std::int64_t width : {1, 5, 16, 45}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI64, DType::kF64}) {
      for (const auto kind :
           {ScatterFunc::Kind::kAssign, ScatterFunc::Kind::kAdd, ScatterFunc::Kind::kMultiply,
            ScatterFunc::Kind::kMaximum, ScatterFunc::Kind::kMinimum}) {
        ScatterFunc func;
        func.dims = {kUpdates, width};
        func.kind = kind;
        func.dtype = dtype == DType::kBF16 ? DType::kF32 : dtype;
        func.update = At(1, dtype, Affine({{0, width}, {1, 1}}));
        func.indices = {At(2, DType::kI32, Affine({{0, 1}}))};
        func.window_dims = {-1};
        func.index_limits = {kPlaces};
        func.index_strides = {width};
        func.output = At(0, dtype, Affine({{1, 1}}));
        auto kernel = Make(func);
        ASSERT_NE(kernel, nullptr);
        if (!kernel->Runs()) continue;
        std::vector<double> expected = Values(kPlaces * width, 0, 1);
        const std::vector<double> updates = Values(kUpdates * width, -1, 2);
        const std::vector<double> places = Values(kUpdates, -2, kPlaces + 1);
        const Elements out(dtype, expected);
        const Elements update(dtype, updates);
        const Elements place(DType::kI32, places);
        kernel->Run({out.data(), update.data(), place.data()});
        for (std::int64_t u = 0; u < kUpdates; ++u) {
          const auto row = static_cast<std::int64_t>(places[static_cast<std::size_t>(u)]);
          if (row < 0 || row >= kPlaces) continue;
          for (std::int64_t i = 0; i < width; ++i) {
            double& old = expected[static_cast<std::size_t>(row * width + i)];
            const double x = updates[static_cast<std::size_t>(u * width + i)];
            if (kind == ScatterFunc::Kind::kAssign) old = x;
            if (kind == ScatterFunc::Kind::kAdd) old += x;
            if (kind == ScatterFunc::Kind::kMultiply) old *= x;
            if (kind == ScatterFunc::Kind::kMaximum) old = std::max(old, x);
            if (kind == ScatterFunc::Kind::kMinimum) old = std::min(old, x);
          }
        }
        EXPECT_THAT(out.Read(), testing::ElementsAreArray(expected)) << ToString(func);
      }
    }
  }
}

// Windows of 3 x `width` at places of a matrix: of those partly outside, the inside is updated;
// overlaps are serial.
TEST_P(OrderedTest, Scatter_Windows_AreClipped) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::array<std::int64_t, 2>> places = {
      {0, 0}, {2, 2}, {3, 0},     {1, 3},    {-1, 0},   {1, -1},
      {1, 1}, {5, 5}, {kHigh, 0}, {kLow, 0}, {0, kLow}, {0, kHigh}};
  const auto count = static_cast<std::int64_t>(places.size());
  for (const std::int64_t width : {1, 2, 16, 45}) {
    for (const auto kind : {ScatterFunc::Kind::kAssign, ScatterFunc::Kind::kAdd}) {
      const std::int64_t columns = width + 4;
      ScatterFunc func;
      func.dims = {count, 3, width};
      func.kind = kind;
      func.update = At(1, DType::kF32, Affine({{0, 3 * width}, {1, width}, {2, 1}}));
      func.indices = {At(2, DType::kI64, Affine({{0, 2}})),
                      At(2, DType::kI64, Affine({{0, 2}}, 1))};
      func.window_dims = {1, 2};
      func.index_limits = {5, columns};
      func.index_strides = {columns, 1};
      func.output = At(0, DType::kF32, Affine({{1, columns}, {2, 1}}));
      auto kernel = Make(func);
      ASSERT_NE(kernel, nullptr);
      if (!kernel->Runs()) continue;
      const std::vector<double> updates = Values(count * 3 * width);
      const Elements out(DType::kF32, 5 * columns);
      const Elements update(DType::kF32, updates);
      std::vector<std::array<std::int64_t, 2>> place = places;
      kernel->Run({out.data(), update.data(), place.data()});
      std::vector<double> expected(static_cast<std::size_t>(5 * columns), 0);
      std::size_t next = 0;
      for (const auto& [top, left] : places) {
        const bool far =
            std::abs(static_cast<double>(top)) > 99 || std::abs(static_cast<double>(left)) > 99;
        for (std::int64_t i = 0; i < 3; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            const double x = updates[next++];
            if (far || top + i < 0 || top + i >= 5 || left + j < 0 || left + j >= columns) continue;
            double& old = expected[static_cast<std::size_t>((top + i) * columns + left + j)];
            old = kind == ScatterFunc::Kind::kAssign ? x : old + x;
          }
        }
      }
      EXPECT_THAT(out.Read(), testing::ElementsAreArray(expected)) << ToString(func);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, OrderedTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
