// libstoker: the C++ interface, header-only over stoker.h. Failures are thrown as stoker::Error.
//
//   stoker::GraphBuilder b("mlp");
//   auto x = b.Input(stoker::DType::kF32, {8, 64});
//   auto w = b.Parameter(stoker::DType::kF32, {64, 10});
//   stoker::Client client;
//   auto executable = client.Compile(b.Build({b.Softmax(b.MatMul(x, w))}));
//   executable.Bind({weights.data()});
//   executable.Run({input.data(), nullptr}, {output.data()});
#ifndef STOKER_STOKER_HPP_
#define STOKER_STOKER_HPP_

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stoker/stoker.h"

namespace stoker {
inline namespace v1 {

class Error : public std::runtime_error {
 public:
  Error(stoker_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  stoker_code code() const { return code_; }

 private:
  stoker_code code_;
};

namespace detail {

inline void Check(stoker_status* status) {
  if (status == nullptr) return;
  const stoker_code code = stoker_status_code(status);
  const std::string message = stoker_status_message(status);
  stoker_status_free(status);
  throw Error(code, message);
}

inline std::string TakeText(char* text) {
  std::string copy(text);
  stoker_text_free(text);
  return copy;
}

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};

}  // namespace detail

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

inline std::string_view Name(DType dtype) {
  constexpr std::string_view kNames[] = {"f64", "f32", "f16", "bf16", "i64",
                                         "i32", "i16", "i8",  "u8",   "bool"};
  return kNames[static_cast<std::size_t>(dtype)];
}

using Sizes = std::vector<std::int64_t>;

// A value of a graph under construction.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Sizes shape;
};

// A verified graph.
class Graph {
 public:
  explicit Graph(const std::string& text) {
    stoker_graph* graph = nullptr;
    detail::Check(stoker_graph_parse(text.data(), text.size(), &graph));
    handle_.reset(graph);
  }
  // The text in a regular file.
  static Graph Read(const std::string& path) {
    stoker_graph* graph = nullptr;
    detail::Check(stoker_graph_read(path.c_str(), &graph));
    return Graph(graph);
  }
  std::string Text() const {
    char* text = nullptr;
    detail::Check(stoker_graph_print(handle_.get(), &text));
    return detail::TakeText(text);
  }
  std::string Digest() const {
    char hex[65];
    stoker_graph_digest(handle_.get(), hex);
    return hex;
  }
  const stoker_graph* get() const { return handle_.get(); }

 private:
  explicit Graph(stoker_graph* graph) : handle_(graph) {}

  std::unique_ptr<stoker_graph, detail::Deleter<&stoker_graph_free>> handle_;
};

// Writes a graph node by node. Sizes and dtypes of the named methods follow from their operands;
// Op() takes any operation of OPS.md. Build verifies everything.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) : name_(std::move(name)) {}

  Tensor Input(DType dtype, Sizes shape) { return AddInput("", dtype, std::move(shape)); }
  // The same tensor in call after call: bound once with Executable::Bind.
  Tensor Parameter(DType dtype, Sizes shape) {
    return AddInput("parameter ", dtype, std::move(shape));
  }

  // `attributes` in the text form: "dims=[0], kind=\"add\"".
  Tensor Op(std::string_view kind, const std::vector<Tensor>& operands,
            const std::string& attributes, DType dtype, Sizes shape) {
    Tensor result{NextName(), dtype, std::move(shape)};
    body_ += "  " + result.name + " = " + std::string(kind) + "(";
    for (std::size_t i = 0; i < operands.size(); ++i) {
      body_ += (i == 0 ? "" : ", ") + operands[i].name;
    }
    body_ += ")";
    if (!attributes.empty()) body_ += " {" + attributes + "}";
    body_ += " : " + TypeOf(result) + "\n";
    return result;
  }

  Tensor Scalar(double value, const Tensor& like) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    Tensor result{NextName(), like.dtype, like.shape};
    body_ += "  " + result.name + " = constant() value(" + std::string(text, end) +
             ") : " + TypeOf(result) + "\n";
    return result;
  }

  Tensor Add(const Tensor& a, const Tensor& b) { return Binary("add", a, b); }
  Tensor Subtract(const Tensor& a, const Tensor& b) { return Binary("subtract", a, b); }
  Tensor Multiply(const Tensor& a, const Tensor& b) { return Binary("multiply", a, b); }
  Tensor Divide(const Tensor& a, const Tensor& b) { return Binary("divide", a, b); }
  Tensor Maximum(const Tensor& a, const Tensor& b) { return Binary("maximum", a, b); }
  Tensor Unary(std::string_view kind, const Tensor& x) {
    return Op(kind, {x}, "", x.dtype, x.shape);
  }
  Tensor Tanh(const Tensor& x) { return Unary("tanh", x); }
  Tensor Exp(const Tensor& x) { return Unary("exponential", x); }
  Tensor Relu(const Tensor& x) { return Maximum(x, Scalar(0, x)); }
  // 0.5 x (1 + erf(x / sqrt 2)).
  Tensor Gelu(const Tensor& x) {
    const Tensor erf = Unary("erf", Multiply(x, Scalar(0.70710678118654752440, x)));
    return Multiply(Multiply(x, Scalar(0.5, x)), Add(erf, Scalar(1, x)));
  }

  Tensor Reshape(const Tensor& x, Sizes shape) {
    return Op("reshape", {x}, "", x.dtype, std::move(shape));
  }
  Tensor Transpose(const Tensor& x, const Sizes& dims) {
    Sizes shape;
    for (std::int64_t d : dims) shape.push_back(x.shape.at(static_cast<std::size_t>(d)));
    return Op("transpose", {x}, "dims=" + ListOf(dims), x.dtype, std::move(shape));
  }
  // Dim i of x becomes dim dims[i] of the result.
  Tensor Broadcast(const Tensor& x, Sizes shape, const Sizes& dims) {
    return Op("broadcast_in_dim", {x}, "dims=" + ListOf(dims), x.dtype, std::move(shape));
  }
  Tensor Reduce(const Tensor& x, std::string_view kind, const Sizes& dims) {
    Sizes shape;
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      bool reduced = false;
      for (std::int64_t r : dims) reduced |= static_cast<std::size_t>(r) == d;
      if (!reduced) shape.push_back(x.shape[d]);
    }
    return Op("reduce", {x}, "dims=" + ListOf(dims) + ", kind=\"" + std::string(kind) + "\"",
              x.dtype, std::move(shape));
  }

  // [M, K] x [K, N].
  Tensor MatMul(const Tensor& a, const Tensor& b) {
    return Op("dot_general", {a, b},
              "lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]", a.dtype,
              {a.shape.at(0), b.shape.at(1)});
  }
  // x [M, K] times weight [N, K] transposed, plus bias [N]: PyTorch's Linear.
  Tensor Linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Sizes shape = {x.shape.at(0), weight.shape.at(0)};
    const Tensor product =
        Op("dot_general", {x, weight},
           "lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1]", x.dtype, shape);
    return Add(product, Broadcast(bias, shape, {1}));
  }
  // Over the last dim.
  Tensor Softmax(const Tensor& x) {
    const auto last = static_cast<std::int64_t>(x.shape.size()) - 1;
    Sizes kept;
    for (std::int64_t d = 0; d < last; ++d) kept.push_back(d);
    const Tensor e = Exp(Subtract(x, Broadcast(Reduce(x, "maximum", {last}), x.shape, kept)));
    return Divide(e, Broadcast(Reduce(e, "add", {last}), x.shape, kept));
  }

  Graph Build(const std::vector<Tensor>& outputs) const {
    std::string text = "graph @" + name_ + "(" + inputs_ + ") {\n" + body_ + "  return ";
    for (std::size_t i = 0; i < outputs.size(); ++i) text += (i == 0 ? "" : ", ") + outputs[i].name;
    return Graph(text + "\n}\n");
  }

 private:
  static std::string ListOf(const Sizes& sizes) {
    std::string text = "[";
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(sizes[i]);
    }
    return text + "]";
  }
  static std::string TypeOf(const Tensor& tensor) {
    return std::string(Name(tensor.dtype)) + ListOf(tensor.shape);
  }
  std::string NextName() { return "%" + std::to_string(next_++); }
  Tensor AddInput(const std::string& role, DType dtype, Sizes shape) {
    Tensor input{NextName(), dtype, std::move(shape)};
    inputs_ += (inputs_.empty() ? "" : ", ") + input.name + ": " + role + TypeOf(input);
    return input;
  }
  Tensor Binary(std::string_view kind, const Tensor& a, const Tensor& b) {
    return Op(kind, {a, b}, "", a.dtype, a.shape);
  }

  std::string name_;
  std::string inputs_;
  std::string body_;
  int next_ = 0;
};

// A loaded artifact. Movable; concurrent Run calls are fine, Bind is not concurrent with them.
class Executable {
 public:
  explicit Executable(stoker_executable* handle) : handle_(handle) {}

  // The graph's parameters in order; the memory must stay valid. When a parameter's content
  // changes, give a version that no executable was given for its address. `stream`, here and below:
  // a GPU's; addresses are, too.
  void Bind(const std::vector<const void*>& parameters, std::int64_t version = 0,
            void* stream = nullptr) {
    const std::vector<std::int64_t> versions(parameters.size(), version);
    detail::Check(stoker_executable_bind(handle_.get(), parameters.data(), versions.data(),
                                         parameters.size(), stream));
  }
  // All inputs in order (nullptr for bound parameters), row-major.
  void Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
           const Sizes& symbols = {}, void* stream = nullptr) {
    detail::Check(stoker_executable_run(handle_.get(), inputs.data(), inputs.size(), symbols.data(),
                                        symbols.size(), outputs.data(), outputs.size(), stream));
  }
  // JSON, see stoker_executable_describe.
  std::string Describe() const {
    char* json = nullptr;
    detail::Check(stoker_executable_describe(handle_.get(), &json));
    return detail::TakeText(json);
  }

 private:
  std::unique_ptr<stoker_executable, detail::Deleter<&stoker_executable_free>> handle_;
};

struct CompileOptions {
  std::string numerics = "highest";
  bool verify = false;
  std::string device = "cpu";  // "cuda:0"
};

// A connection to a daemon; with default options a private one that is started when needed.
class Client {
 public:
  explicit Client(const char* url = nullptr) {
    stoker_client_options options{};
    options.struct_size = sizeof options;
    options.url = url;
    stoker_client* client = nullptr;
    detail::Check(stoker_client_create(&options, &client));
    handle_.reset(client);
  }

  Executable Compile(const Graph& graph, const CompileOptions& options = {}) {
    stoker_compile_options c{};
    c.struct_size = sizeof c;
    c.numerics = options.numerics.c_str();
    c.verify = options.verify ? 1 : 0;
    c.device = options.device.c_str();
    stoker_executable* executable = nullptr;
    detail::Check(stoker_compile(handle_.get(), graph.get(), &c, &executable));
    return Executable(executable);
  }
  // Body of GET `path` on the daemon: "/status".
  std::string Get(const char* path) {
    char* text = nullptr;
    detail::Check(stoker_client_get(handle_.get(), path, &text));
    return detail::TakeText(text);
  }
  // The same of a daemon that runs; STOKER_UNAVAILABLE when none does, never starts one.
  std::string Probe(const char* path) {
    char* text = nullptr;
    detail::Check(stoker_client_probe(handle_.get(), path, &text));
    return detail::TakeText(text);
  }
  stoker_client* get() const { return handle_.get(); }

 private:
  std::unique_ptr<stoker_client, detail::Deleter<&stoker_client_free>> handle_;
};

}  // namespace v1
}  // namespace stoker

#endif  // STOKER_STOKER_HPP_
