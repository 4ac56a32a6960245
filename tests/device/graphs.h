// The graphs that are run and timed on a GPU, as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::device_test {

std::string GeluGraph(std::int64_t rows, std::int64_t columns, std::string_view dtype);
std::string SoftmaxGraph(std::int64_t rows, std::int64_t columns, std::string_view dtype);
std::string LayerNormGraph(std::int64_t rows, std::int64_t columns, std::string_view dtype);
// softmax(layer_norm(gelu(x)) / 2) over bf16, as PyTorch computes it: each step is rounded.
std::string GeluLayerNormSoftmaxGraph(std::int64_t rows, std::int64_t columns);
// A reduction of kind `kind` over dim 1 of [a, b, c].
std::string ReduceGraph(std::int64_t a, std::int64_t b, std::int64_t c, std::string_view dtype,
                        std::string_view kind);
// What a linear layer and what follows it are made of: x of [m, k] times the weight [n, k],
// transposed.
struct Linear {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  bool has_bias = false;
  bool has_residual = false;
  bool has_relu = false;
};
std::string LinearGraph(const Linear& linear, std::string_view dtype);
// [batch, m, k] times [batch, k, n], or its transpose's transpose.
std::string BatchedGraph(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                         bool is_transposed, std::string_view dtype);
// Scores of `heads` heads of `size`, and their products with values, from one projection of [rows,
// 3 * heads * size] and through a last one: all operands are views.
std::string HeadsGraph(std::int64_t rows, std::int64_t heads, std::int64_t size,
                       std::string_view dtype);
// Of a projection of [rows, batch, width] and of two products of heads: with respect to what was
// projected, to the weights and to the bias. All are seen in another order than they are made in.
std::string GradientsGraph(std::int64_t batch, std::int64_t rows, std::int64_t heads,
                           std::int64_t size, std::string_view dtype);
std::string ArgReduceGraph(std::int64_t a, std::int64_t b, std::int64_t c, std::string_view dtype);
std::string TotalGraph(std::int64_t elements, std::string_view dtype);
std::string UnaryGraph(std::string_view op, std::int64_t elements, std::string_view dtype);
// What is too much for one kernel. A concatenation of that many inputs; `steps` operations, each on
// two of the `live` latest values, all of which are needed in the end; `steps`
// means of rows, each of what the one before was taken out of.
std::string ConcatenationGraph(int inputs, std::int64_t columns, std::string_view dtype);
std::string LongPointwiseGraph(int steps, int live, std::int64_t elements, std::string_view dtype);
std::string ReductionChainGraph(int steps, std::int64_t rows, std::int64_t columns,
                                std::string_view dtype);
// Slices of one value side by side: in another order, some of them twice, some left out, along both
// dims of n by n, and one of them inside of what is padded. n > 5.
std::string SlicesGraph(std::int64_t n, std::string_view dtype);
// By name: outputs in the memory of inputs, in each way in which a kernel may read what it
// overwrites.
std::vector<std::pair<std::string, std::string>> UpdatingGraphs(std::int64_t rows,
                                                                std::int64_t columns);
// `steps` steps of the shallow-water equations on an n by n torus, f32.
std::string ShallowWaterGraph(std::int64_t n, int steps);

struct AttentionShape {
  std::int64_t batch, heads, kv_heads, queries, keys;
  std::int64_t head, value;  // Numbers of a head.
};
std::string AttentionGraph(const AttentionShape& shape, std::string_view dtype, bool causal);
// Queries, keys and values side by side in one input, [batch, queries, 3 * heads * head].
std::string JoinedAttentionGraph(const AttentionShape& shape, std::string_view dtype, bool causal);

}  // namespace stoker::device_test
