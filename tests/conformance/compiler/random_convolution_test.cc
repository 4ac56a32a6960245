// Random convolutions around which there is much to leave out: narrow images, wide padding, windows
// that lie outside as a whole, several paddings of one image; with an infinity and a NaN in it,
// which are seen where a window covers them and nowhere else. STOKER_SEEDS=first:count runs others.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "protocol/graph/graph.h"
#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kMaxProducts = 1'000'000;

std::string Listed(const Sizes& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

struct Window {
  Sizes size, strides, low, high, dilation, lhs_dilation;
  Sizes result;  // Places of it in the image.
  std::int64_t products = 1;

  std::string Text(std::int64_t groups) const {
    return "{strides=" + Listed(strides) + ", pad_low=" + Listed(low) +
           ", pad_high=" + Listed(high) + ", dilation=" + Listed(dilation) +
           ", lhs_dilation=" + Listed(lhs_dilation) + ", groups=" + std::to_string(groups) + "}";
  }
};

class Convolutions {
 public:
  explicit Convolutions(std::uint64_t seed) : random_(seed) {}

  // Of one image; empty if none of the windows fits.
  std::string Draw() {
    const std::string dtype = OneOf<const char*>({"f32", "f32", "bf16", "bf16", "f16", "f64"});
    const auto rank = static_cast<std::size_t>(OneOf({1, 2, 2, 2, 3}));
    const std::int64_t images = OneOf({1, 2, 3});
    const std::int64_t groups = OneOf({1, 1, 1, 2});
    // Those of 64 channels and more leave out columns, and those of whole granules are read in
    // place.
    const std::int64_t channels = rank == 3 ? OneOf({3, 64}) : OneOf({3, 32, 64, 64, 66, 96});
    Sizes image;
    for (std::size_t i = 0; i < rank; ++i) image.push_back(OneOf({1, 2, 3, 5, 7, 14, 14, 17}));
    const auto type = [&](std::int64_t first, std::int64_t second, const Sizes& sizes) {
      Sizes all = {first, second};
      all.insert(all.end(), sizes.begin(), sizes.end());
      return dtype + Listed(all);
    };
    std::string inputs = "%x: " + type(images, groups * channels, image);
    std::string nodes;
    std::string results;
    for (const std::string id : {"0", "1"}) {
      const std::optional<Window> window = DrawWindow(image);
      const std::int64_t features = groups * OneOf({1, 16, 33, 65});
      if (!window || window->products * images * channels * features > kMaxProducts) continue;
      inputs += ", %w" + id + ": parameter " + type(features, channels, window->size);
      nodes += "  %c" + id + " = convolution(%x, %w" + id + ") " + window->Text(groups) + " : " +
               type(images, features, window->result) + "\n";
      results += (results.empty() ? "%c" : ", %c") + id;
    }
    if (results.empty()) return "";
    return "graph @convolutions(" + inputs + ") {\n" + nodes + "  return " + results + "\n}\n";
  }

  // In place of two elements of the image.
  void AddSpecialValues(std::vector<InterpreterTensor>& inputs) {
    auto& elements = std::get<std::vector<double>>(inputs[0].elements);
    for (const double value :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      elements[static_cast<std::size_t>(random_() % elements.size())] = value;
    }
  }

 private:
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  std::int64_t OneOf(std::initializer_list<int> values) {
    return values.begin()[random_() % values.size()];
  }

  std::optional<Window> DrawWindow(const Sizes& image) {
    Window window;
    for (const std::int64_t size : image) {
      window.size.push_back(OneOf({1, 2, 3, 3, 5}));
      window.strides.push_back(OneOf({1, 1, 2, 3}));
      window.dilation.push_back(OneOf({1, 1, 2, 2, 3}));
      window.lhs_dilation.push_back(OneOf({1, 1, 1, 1, 1, 2}));
      window.low.push_back(OneOf({0, 1, 1, 2, 5, 9, -1}));
      window.high.push_back(OneOf({0, 1, 1, 2, 5, 9, -1}));
      const std::int64_t spread = (size - 1) * window.lhs_dilation.back() + 1;
      const std::int64_t reach = (window.size.back() - 1) * window.dilation.back() + 1;
      const std::int64_t steps = spread + window.low.back() + window.high.back() - reach;
      const bool is_cut_away = spread + std::min<std::int64_t>(window.low.back(), 0) +
                                   std::min<std::int64_t>(window.high.back(), 0) <
                               1;
      if (steps < 0 || is_cut_away) return std::nullopt;
      window.result.push_back(steps / window.strides.back() + 1);
      window.products *= window.size.back() * window.result.back();
    }
    return window;
  }

  std::mt19937_64 random_;
};

TEST(RandomConvolution, OfAnyPadding_AgreesWithTheInterpreter) {
  for (const std::uint64_t seed : Seeds(1, 12)) {
    Convolutions convolutions(seed);
    std::string text;
    while (text.empty()) text = convolutions.Draw();
    const auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.error().message << "\n" << text;
    std::vector<InterpreterTensor> inputs = RandomInputs(*graph, seed);
    if (seed % 4 != 0) convolutions.AddSpecialValues(inputs);
    EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "") << "seed " << seed << "\n" << text;
  }
}

// Two lines share a tile product, once of two images; taps of both dims step as one.
TEST(PaddedConvolution, OfLinesInPairsAndTapsInOne_AgreesWithTheInterpreter) {
  for (const char* convolution :
       {"%x: bf16[2,64,13,14], %w: parameter bf16[32,64,3,3]) {\n  %c = convolution(%x, %w) "
        "{strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], "
        "groups=1} : bf16[2,32,13,14]",
        "%x: f32[1,64,7,4], %w: parameter f32[32,64,3,3]) {\n  %c = convolution(%x, %w) "
        "{strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,2], lhs_dilation=[1,1], "
        "groups=1} : f32[1,32,7,2]"}) {
    const std::string text = "graph @g(" + std::string(convolution) + "\n  return %c\n}\n";
    EXPECT_EQ(CheckText(text).error, "") << text;
  }
}

}  // namespace
}  // namespace stoker::test
