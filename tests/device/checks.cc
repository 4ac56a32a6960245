#include "tests/device/checks.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "protocol/graph/op_kind.h"
#include "protocol/graph/op_table.h"
#include "tests/conformance/compiler/graph_generator.h"
#include "tests/conformance/compiler/tensors.h"
#include "tests/conformance/compiler/with_updates.h"
#include "tests/device/graphs.h"

namespace stoker::device_test {
namespace {

using test::Compare;
using test::Tolerance;

struct Check {
  std::string name;
  std::function<Result<Graph>()> graph;
  std::uint64_t seed = 1;
  double scale = 1;      // Of the inputs.
  bool special = false;  // With NaN, infinities and zeros.
  // The interpreter rounds each value to its dtype: of a graph that says where narrow values are
  // rounded, and makes the difference larger afterwards.
  bool rounds = false;
  Tolerance tolerance{};
};

Check Text(std::string name, std::string text) {
  Check check;
  check.name = std::move(name);
  check.graph = [text = std::move(text)] { return ParseGraph(text); };
  return check;
}

// Empty, or which of the `inputs` is not as it was, that no output updates.
Result<std::string> ChangedInput(const Graph& graph, const std::vector<InterpreterTensor>& inputs,
                                 const GpuProgram& program, cuda::Queue& queue) {
  STOKER_TRY(const std::vector<InterpreterTensor> found, program.Inputs(queue));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_updated = std::ranges::any_of(
        graph.updates(), [&](const InputUpdate& update) { return update.input == i; });
    if (!is_updated && found[i].ToBytes() != inputs[i].ToBytes()) {
      return "input " + std::to_string(i) + " has changed";
    }
  }
  return std::string();
}

// Empty, or what is wrong. Unimplemented: there is no kernel for it.
Result<std::string> RunCheck(const Check& check, cuda::Device& device, cuda::Queue& queue,
                             const AssembleFn& assemble) {
  const Result<Graph> graph = check.graph();
  if (!graph.ok()) return "parse: " + graph.error().message;
  std::vector<InterpreterTensor> inputs = test::RandomInputs(*graph, check.seed);
  for (InterpreterTensor& input : inputs) {
    if (auto* values = std::get_if<std::vector<double>>(&input.elements)) {
      for (double& x : *values) x *= check.scale;
    }
  }
  if (check.special) test::AddSpecialValues(inputs, check.seed);
  inputs = test::Rounded(inputs);
  auto program = GpuProgram::Make(*graph, device, assemble);
  if (!program.ok()) {
    if (program.error().code == ErrorCode::kUnimplemented) return program.error();
    return "compile: " + program.error().message;
  }
  const auto interpreted = Interpret(*graph, inputs, {.round_to_dtype = check.rounds});
  if (!interpreted.ok()) return "interpreter: " + interpreted.error().message;
  const std::vector<InterpreterTensor> expected = test::Rounded(*interpreted);
  for (const int skew : {0, 1}) {
    const auto run = [&]() -> Result<std::vector<InterpreterTensor>> {
      STOKER_RETURN_IF_ERROR((*program)->Place(queue, skew));
      STOKER_RETURN_IF_ERROR((*program)->SetInputs(inputs, queue));
      STOKER_RETURN_IF_ERROR((*program)->Run(queue));
      return (*program)->Outputs(queue);
    };
    const auto actual = run();
    if (!actual.ok()) return "run: " + actual.error().message;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double tolerance = test::ToleranceOf(check.tolerance, expected[i].dtype);
      const std::string difference = Compare(expected[i], (*actual)[i], tolerance);
      if (difference.empty()) continue;
      return "output " + std::to_string(i) + (skew == 0 ? "" : ", not aligned") + ": " +
             difference + " [" + (*program)->Schedules() + "]";
    }
    STOKER_TRY(const std::string changed, ChangedInput(*graph, inputs, **program, queue));
    if (!changed.empty()) return changed + " [" + (*program)->Schedules() + "]";
  }
  return std::string();
}

void AddRows(int scale, std::vector<Check>& checks) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {3, 65}, {17, 64}, {5, 1}, {2, 1000}};
  if (scale > 0) {
    shapes.insert(shapes.end(), {{1, 8},
                                 {1000, 3},
                                 {257, 31},
                                 {129, 33},
                                 {64, 256},
                                 {1000, 768},
                                 {300, 1024},
                                 {40, 3072},
                                 {16, 8192},
                                 {9, 8191},
                                 {7, 16384},
                                 {3, 30000},
                                 {2, 131072},
                                 {1, 70001},
                                 {4096, 16},
                                 {70000, 4}});
  }
  for (const auto& [rows, columns] : shapes) {
    const std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
    for (const char* dtype : {"f32", "bf16", "f16", "f64"}) {
      const std::string what = std::string(" ") + dtype + " " + shape;
      checks.push_back(Text("softmax" + what, SoftmaxGraph(rows, columns, dtype)));
      if (columns > 1) {
        checks.push_back(Text("layer norm" + what, LayerNormGraph(rows, columns, dtype)));
      }
    }
    if (columns > 1) {
      Check chain =
          Text("gelu+norm+softmax bf16 " + shape, GeluLayerNormSoftmaxGraph(rows, columns));
      chain.rounds = true;
      checks.push_back(std::move(chain));
    }
  }
}

void AddReductions(int scale, std::vector<Check>& checks) {
  struct Shape {
    std::int64_t a, b, c;
  };
  std::vector<Shape> shapes = {{1, 300, 70}, {5, 33, 1}, {2, 17, 48}};
  if (scale > 0) {
    shapes.insert(shapes.end(), {{1, 4096, 8},
                                 {1, 20000, 1},
                                 {1, 1000, 768},
                                 {64, 1000, 3},
                                 {3, 100, 1000},
                                 {2000, 50, 1},
                                 {1, 3, 100000},
                                 {1, 100000, 3},
                                 {1, 65536, 64}});
  }
  for (const Shape& s : shapes) {
    const std::string shape =
        std::to_string(s.a) + "x" + std::to_string(s.b) + "x" + std::to_string(s.c);
    for (const char* dtype : {"f32", "bf16", "f16", "f64", "i64", "i32"}) {
      for (const char* kind : {"add", "maximum"}) {
        checks.push_back(Text(std::string(kind) + " " + dtype + " " + shape,
                              ReduceGraph(s.a, s.b, s.c, dtype, kind)));
      }
      checks.push_back(Text(std::string("arg maximum ") + dtype + " " + shape,
                            ArgReduceGraph(s.a, s.b, s.c, dtype)));
    }
  }
  for (const std::int64_t elements : {std::int64_t{1000}, std::int64_t{3000000}}) {
    if (elements > 1000 && scale == 0) continue;
    for (const char* dtype : {"f32", "bf16", "f64", "i64"}) {
      checks.push_back(Text(std::string("total ") + dtype + " " + std::to_string(elements),
                            TotalGraph(elements, dtype)));
    }
  }
}

void AddPoints(int scale, std::vector<Check>& checks) {
  const std::int64_t many = scale > 0 ? 2000003 : 1003;
  for (const char* dtype : {"f32", "bf16", "f16", "f64"}) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{4096}, many, many / 8 * 8}) {
      checks.push_back(
          Text(std::string("gelu ") + dtype + " " + std::to_string(n), GeluGraph(1, n, dtype)));
    }
    for (const char* op : {"sine", "cosine", "tan", "exponential", "log", "tanh", "erf"}) {
      for (const double size : {1.0, 1e4, 1e12}) {
        if (size > 1e4 && std::string_view(dtype) == "f16") continue;
        Check check = Text(std::string(op) + " " + dtype + " of numbers of " +
                               std::to_string(static_cast<std::int64_t>(size)),
                           UnaryGraph(op, scale > 0 ? 100000 : 1024, dtype));
        check.scale = size;
        checks.push_back(std::move(check));
      }
    }
  }
  for (const char* dtype : {"f32", "bf16", "i64"}) {
    for (const std::int64_t n : {6, 67}) {
      checks.push_back(Text("slices of " + std::to_string(n) + " " + dtype, SlicesGraph(n, dtype)));
    }
  }
  Check water = Text("shallow water", ShallowWaterGraph(scale > 0 ? 128 : 16, 2));
  water.scale = 0.1;
  checks.push_back(std::move(water));
}

// Products of heads, and gradients of what is seen in another order.
void AddProductsOfHeads(int scale, std::vector<Check>& checks) {
  for (const char* dtype : {"f32", "bf16", "f64"}) {
    Check check = Text(std::string("heads ") + dtype,
                       scale > 0 ? HeadsGraph(128, 12, 64, dtype) : HeadsGraph(7, 3, 8, dtype));
    check.tolerance = {1e-11, 1e-4, 4e-2, 1e-1};
    checks.push_back(std::move(check));
  }
  for (const char* dtype : {"f32", "bf16", "f64"}) {
    Check check =
        Text(std::string("gradients in another order ") + dtype,
             scale > 0 ? GradientsGraph(8, 197, 12, 64, dtype) : GradientsGraph(3, 5, 2, 8, dtype));
    check.tolerance = {1e-11, 1e-4, 4e-2, 1e-1};
    checks.push_back(std::move(check));
  }
}

// Matrix products with what follows them. Sums of as many terms as here are off by no more.
void AddProducts(int scale, std::vector<Check>& checks) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  std::vector<Sizes> sizes = {{5, 7, 9}, {1, 8, 16}, {16, 1, 8}, {3, 24, 1}, {1, 1, 1}};
  if (scale > 0) {
    sizes.insert(sizes.end(), {{128, 768, 768},
                               {1, 3072, 768},
                               {17, 2304, 768},
                               {1024, 1024, 64},
                               {333, 255, 1000},
                               {64, 64, 4096},
                               {8, 50257, 768}});
  }
  for (const auto& [m, n, k] : sizes) {
    const std::string size = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    for (const char* dtype : {"f32", "bf16", "f16", "f64"}) {
      for (int with = 0; with < 8; ++with) {
        if (with > 3 && m * n > 1 << 18) continue;
        const Linear linear{m, n, k, (with & 1) != 0, (with & 2) != 0, (with & 4) != 0};
        Check check =
            Text(std::string("linear ") + dtype + " " + size + " with " + std::to_string(with),
                 LinearGraph(linear, dtype));
        check.tolerance = {1e-12, 1e-5, 4e-3, 1e-2};
        checks.push_back(std::move(check));
      }
      for (const bool is_transposed : {false, true}) {
        const std::int64_t batch = m * n > 1 << 18 ? 1 : 3;
        Check check = Text(
            std::string("batched ") + dtype + " " + size + (is_transposed ? " transposed" : ""),
            BatchedGraph(batch, m, n, k, is_transposed, dtype));
        check.tolerance = {1e-12, 1e-5, 4e-3, 1e-2};
        checks.push_back(std::move(check));
      }
    }
  }
  // Large enough that rows of an odd number of columns are written apart and packed.
  for (const char* dtype : {"f32", "bf16"}) {
    Check check = Text(std::string("linear of odd rows ") + dtype,
                       LinearGraph({3, 2731, 768, true, false, true}, dtype));
    check.tolerance = {1e-12, 1e-5, 4e-3, 1e-2};
    checks.push_back(std::move(check));
  }
  for (const char* dtype : {"f32", "bf16"}) {
    Check check = Text(std::string("linear with special values ") + dtype,
                       LinearGraph({40, 24, 16, true, true, true}, dtype));
    check.special = true;
    checks.push_back(std::move(check));
  }
}

// What is more than one kernel holds.
// Queries at the edges of warps and blocks, keys at those of tiles, heads of each size.
void AddAttention(int scale, std::vector<Check>& checks) {
  const std::vector<AttentionShape> small = {
      {1, 1, 1, 1, 1, 16, 16},    {1, 2, 1, 17, 64, 32, 16},  {1, 1, 1, 64, 65, 64, 64},
      {2, 3, 3, 33, 130, 16, 48}, {1, 4, 2, 70, 40, 80, 112}, {1, 1, 1, 16, 100, 128, 128}};
  const std::vector<AttentionShape> large = {
      {2, 12, 12, 128, 128, 64, 64}, {1, 8, 2, 500, 500, 64, 64}, {1, 4, 4, 1025, 1025, 128, 128},
      {1, 2, 1, 300, 77, 96, 32},    {3, 5, 5, 197, 197, 80, 80}, {16, 16, 16, 64, 64, 32, 32}};
  std::vector<AttentionShape> shapes = small;
  if (scale != 0) shapes.insert(shapes.end(), large.begin(), large.end());
  for (const AttentionShape& shape : shapes) {
    for (const char* dtype : {"bf16", "f16"}) {
      for (const bool causal : {false, true}) {
        const std::string what = std::string(" of ") + dtype + ", queries " +
                                 std::to_string(shape.queries) + ", keys " +
                                 std::to_string(shape.keys) + ", heads of " +
                                 std::to_string(shape.head) + (causal ? ", causal" : "");
        checks.push_back(Text("attention" + what, AttentionGraph(shape, dtype, causal)));
        if (shape.head != shape.value || shape.kv_heads != shape.heads) continue;
        checks.push_back(
            Text("attention of one product" + what, JoinedAttentionGraph(shape, dtype, causal)));
      }
    }
  }
}

void AddLong(int scale, std::vector<Check>& checks) {
  for (const char* dtype : {"f32", "f64", "i64"}) {
    const std::string what = std::string(" ") + dtype;
    checks.push_back(Text("concatenation of 400" + what, ConcatenationGraph(400, 24, dtype)));
    checks.push_back(Text("concatenation of 33" + what, ConcatenationGraph(33, 7, dtype)));
    if (std::string_view(dtype) == "i64") continue;
    for (const int live : {2, 40, 80}) {
      checks.push_back(Text("300 operations, " + std::to_string(live) + " live" + what,
                            LongPointwiseGraph(300, live, scale > 0 ? 100000 : 1030, dtype)));
    }
    // A row that is kept, one that is not.
    for (const std::int64_t columns : {96, 70001}) {
      checks.push_back(Text("40 reductions of " + std::to_string(columns) + what,
                            ReductionChainGraph(40, 2, columns, dtype)));
    }
  }
}

// Every op and dtype, as tests/conformance/compiler draws them.
void AddOps(int scale, std::vector<Check>& checks) {
  constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                            DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};
  constexpr DType kSome[] = {DType::kF32, DType::kI64};
  using Scale = test::GraphGenerator::Scale;
  for (int i = 0; i < kNumOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (RowOf(kind).role == OpRole::kExtern || RowOf(kind).role == OpRole::kRegion) continue;
    if (kind == OpKind::kRequire) continue;  // Of what does not hold it is an error.
    for (const DType dtype : scale > 0 ? std::span<const DType>(kAll) : kSome) {
      for (const bool special : {false, true}) {
        const std::uint64_t seed = static_cast<std::uint64_t>(i) * 1000 +
                                   static_cast<std::uint64_t>(dtype) * 10 + (special ? 1 : 0);
        // Whether a zero that pads or a key that is masked meets an infinite factor is nobody's
        // contract.
        if (special && (kind == OpKind::kConvolution || kind == OpKind::kAttention)) continue;
        const Scale size = special || scale == 0 ? Scale::kSmall : Scale::kLarge;
        test::GraphGenerator probe(seed, size);
        if (!probe.Add(kind, dtype)) continue;
        Check check;
        check.name = std::string(Name(kind)) + " " + std::string(Name(dtype)) +
                     (special ? " with special values" : "");
        check.seed = seed;
        check.special = special;
        check.graph = [=]() -> Result<Graph> {
          test::GraphGenerator generator(seed, size);
          generator.Add(kind, dtype);
          return generator.Build();
        };
        checks.push_back(std::move(check));
      }
    }
  }
}

void AddChains(int scale, std::vector<Check>& checks) {
  for (std::uint64_t seed = 0; seed < (scale > 0 ? 200U : 20U); ++seed) {
    Check check;
    check.name = "chain " + std::to_string(seed);
    check.seed = seed;
    check.graph = [seed] {
      test::GraphGenerator generator(seed);
      generator.AddChain(1 + static_cast<int>(seed % 12));
      return generator.Build();
    };
    check.tolerance = {1e-9, 2e-4, 2e-2, 1e-1};
    checks.push_back(std::move(check));
  }
}

void AddUpdates(int scale, std::vector<Check>& checks) {
  for (std::uint64_t seed = 0; seed < (scale > 0 ? 200U : 20U); ++seed) {
    Check check;
    check.name = "updates " + std::to_string(seed);
    check.seed = seed;
    check.graph = [seed]() -> Result<Graph> {
      test::GraphGenerator generator(seed);
      generator.AddChain(1 + static_cast<int>(seed % 12));
      STOKER_TRY(const Graph graph, generator.Build());
      std::size_t updates = 0;
      return test::WithUpdates(graph, seed, &updates);
    };
    check.tolerance = {1e-9, 2e-4, 2e-2, 1e-1};
    checks.push_back(std::move(check));
  }
  for (const std::int64_t columns : {3, 130, 3000}) {
    if (columns > 1000 && scale == 0) continue;
    for (auto& [what, text] : UpdatingGraphs(scale > 0 ? 1000 : 9, columns)) {
      checks.push_back(Text("updates " + what + " " + std::to_string(columns), std::move(text)));
    }
  }
}

}  // namespace

int CheckCounts::without_kernel() const {
  int sum = 0;
  for (const auto& [what, count] : refused) sum += count;
  return sum;
}

CheckCounts RunChecks(cuda::Device& device, const AssembleFn& assemble, const CheckChoice& choice) {
  const auto end = std::chrono::steady_clock::now() + choice.limit;
  const int scale = choice.scale;
  std::vector<Check> checks;
  AddRows(scale, checks);
  AddReductions(scale, checks);
  AddPoints(scale, checks);
  AddProducts(scale, checks);
  AddProductsOfHeads(scale, checks);
  AddAttention(scale, checks);
  AddLong(scale, checks);
  AddOps(scale, checks);
  AddChains(scale, checks);
  AddUpdates(scale, checks);
  std::erase_if(checks, [&](const Check& check) {
    return check.name.find(choice.named) == std::string::npos;
  });
  CheckCounts counts;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const auto queue = cuda::Queue::Create(device);
    while (true) {
      const std::size_t i = next++;
      if (i >= checks.size()) return;
      if (std::chrono::steady_clock::now() > end) {
        const std::lock_guard lock(mutex);
        ++counts.not_run;
        continue;
      }
      const Result<std::string> outcome =
          queue.ok() ? RunCheck(checks[i], device, **queue, assemble)
                     : Result<std::string>("queue: " + queue.error().message);
      const std::lock_guard lock(mutex);
      if (!outcome.ok()) {
        const std::string& why = outcome.error().message;  // Behind the step's own label.
        ++counts.refused[why.substr(std::min(why.find("There is"), why.size()))];
      } else if (outcome->empty()) {
        ++counts.passed;
      } else {
        ++counts.failed;
        counts.failures.push_back(checks[i].name + ": " + *outcome);
      }
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < choice.threads; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  return counts;
}

}  // namespace stoker::device_test
