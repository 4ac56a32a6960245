// Builds softmax(gelu(x w1^T + b1) w2^T + b2), has it compiled by the daemon, runs it and compares
// it with plain loops. The second run of this program finds the artifact in the cache.
#include <cmath>
#include <cstdio>
#include <random>
#include <stoker/stoker.hpp>
#include <vector>

namespace {

constexpr std::int64_t kBatch = 32, kIn = 256, kHidden = 512, kOut = 10;

std::vector<float> Random(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, 0.05F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = normal(generator);
  return values;
}

// y = x w^T + b.
std::vector<double> Linear(const std::vector<double>& x, const std::vector<float>& w,
                           const std::vector<float>& b) {
  const std::size_t n = b.size();
  const std::size_t k = w.size() / n;
  const std::size_t m = x.size() / k;
  std::vector<double> y(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = b[j];
      for (std::size_t l = 0; l < k; ++l) sum += x[i * k + l] * w[j * k + l];
      y[i * n + j] = sum;
    }
  }
  return y;
}

}  // namespace

int main() try {
  stoker::GraphBuilder builder("two_layer");
  const auto x = builder.Input(stoker::DType::kF32, {kBatch, kIn});
  const auto w1 = builder.Parameter(stoker::DType::kF32, {kHidden, kIn});
  const auto b1 = builder.Parameter(stoker::DType::kF32, {kHidden});
  const auto w2 = builder.Parameter(stoker::DType::kF32, {kOut, kHidden});
  const auto b2 = builder.Parameter(stoker::DType::kF32, {kOut});
  const auto hidden = builder.Gelu(builder.Linear(x, w1, b1));
  const auto graph = builder.Build({builder.Softmax(builder.Linear(hidden, w2, b2))});

  stoker::Client client;
  auto executable = client.Compile(graph);
  std::printf("%s\n", executable.Describe().c_str());

  const auto input = Random(kBatch * kIn, 1);
  const auto v1 = Random(kHidden * kIn, 2), c1 = Random(kHidden, 3);
  const auto v2 = Random(kOut * kHidden, 4), c2 = Random(kOut, 5);
  std::vector<float> output(static_cast<std::size_t>(kBatch * kOut));
  executable.Bind({v1.data(), c1.data(), v2.data(), c2.data()});
  executable.Run({input.data(), nullptr, nullptr, nullptr, nullptr}, {output.data()});

  auto expected = Linear({input.begin(), input.end()}, v1, c1);
  for (double& v : expected) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  expected = Linear(expected, v2, c2);
  double worst = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(kBatch); ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < kOut; ++j) sum += std::exp(expected[row * kOut + j]);
    for (std::size_t j = 0; j < kOut; ++j) {
      const double want = std::exp(expected[row * kOut + j]) / sum;
      worst = std::max(worst, std::abs(want - static_cast<double>(output[row * kOut + j])));
    }
  }
  std::printf("largest difference from plain loops: %.2e\n", worst);
  return worst < 1e-5 ? 0 : 1;
} catch (const stoker::Error& error) {
  std::fprintf(stderr, "two_layer: %s\n", error.what());
  return 1;
}
