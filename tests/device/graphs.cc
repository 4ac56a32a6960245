#include "tests/device/graphs.h"

#include <vector>

namespace stoker::device_test {
namespace {

// Writes the text of a graph line by line; each call gives the new value's name.
class GraphText {
 public:
  GraphText(std::int64_t rows, std::int64_t columns, std::string_view dtype)
      : full_(std::string(dtype) + "[" + std::to_string(rows) + "," + std::to_string(columns) +
              "]"),
        row_(std::string(dtype) + "[" + std::to_string(rows) + "]"),
        columns_(columns) {}

  std::string Input(const std::string& name, const std::string& type) {
    inputs_ += (inputs_.empty() ? "%" : ", %") + name + ": " + type;
    return "%" + name;
  }
  std::string Node(const std::string& what, const std::string& type) {
    const std::string name = "%n" + std::to_string(next_++);
    body_ += "  " + name + " = " + what + " : " + type + "\n";
    return name;
  }
  std::string Full(const std::string& what) { return Node(what, full_); }
  std::string Row(const std::string& what) { return Node(what, row_); }
  std::string Op(const std::string& op, const std::string& x, const std::string& y = "") {
    return Full(op + "(" + x + (y.empty() ? "" : ", " + y) + ")");
  }
  std::string Constant(const std::string& value) { return Full("constant() value(" + value + ")"); }
  std::string Reduce(const std::string& x, const std::string& kind) {
    return Row("reduce(" + x + ") {dims=[1], kind=\"" + kind + "\"}");
  }
  std::string ToRow(const std::string& x) { return Full("broadcast_in_dim(" + x + ") {dims=[0]}"); }
  std::string AlongRow(const std::string& x) {
    return Full("broadcast_in_dim(" + x + ") {dims=[1]}");
  }
  void SetDtype(std::string_view dtype) {
    full_ = std::string(dtype) + full_.substr(full_.find('['));
    row_ = std::string(dtype) + row_.substr(row_.find('['));
  }

  std::string Attention(const std::vector<std::string>& operands, bool causal,
                        const std::string& type) {
    std::string list;
    for (const std::string& operand : operands) list += (list.empty() ? "" : ", ") + operand;
    return Node("attention(" + list + ") {scale=0.125, causal=" + (causal ? "true" : "false") + "}",
                type);
  }
  std::string Gelu(const std::string& x) {
    const std::string erf = Op("erf", Op("multiply", x, Constant("0.7071067811865476")));
    return Op("multiply", Op("multiply", x, Constant("0.5")), Op("add", erf, Constant("1")));
  }
  std::string Softmax(const std::string& x) {
    const std::string shifted = Op("subtract", x, ToRow(Reduce(x, "maximum")));
    const std::string e = Op("exponential", shifted);
    return Op("divide", e, ToRow(Reduce(e, "add")));
  }
  std::string LayerNorm(const std::string& x, const std::string& weight, const std::string& bias) {
    const std::string count = Row("constant() value(" + std::to_string(columns_) + ")");
    const std::string mean = Row("divide(" + Reduce(x, "add") + ", " + count + ")");
    const std::string d = Op("subtract", x, ToRow(mean));
    const std::string squares = Reduce(Op("multiply", d, d), "add");
    const std::string variance = Row("divide(" + squares + ", " + count + ")");
    const std::string shifted =
        Row("add(" + variance + ", " + Row("constant() value(0.00001)") + ")");
    const std::string y = Op("multiply", d, ToRow(Row("rsqrt(" + shifted + ")")));
    return Op("add", Op("multiply", y, AlongRow(weight)), AlongRow(bias));
  }
  std::string Converted(const std::string& x, std::string_view dtype) {
    SetDtype(dtype);
    return Full("convert(" + x + ")");
  }

  std::string Return(const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
    return "graph @g(" + inputs_ + ") {\n" + body_ + "  return " + list + "\n}\n";
  }
  const std::string& full() const { return full_; }
  std::string ColumnType(std::string_view dtype) const {
    return std::string(dtype) + "[" + std::to_string(columns_) + "]";
  }

 private:
  std::string full_;
  std::string row_;
  std::int64_t columns_;
  std::string inputs_;
  std::string body_;
  int next_ = 0;
};

}  // namespace

std::string GeluGraph(std::int64_t rows, std::int64_t columns, std::string_view dtype) {
  GraphText g(rows, columns, dtype);
  const std::string x = g.Input("x", g.full());
  return g.Return({g.Gelu(x)});
}

std::string SoftmaxGraph(std::int64_t rows, std::int64_t columns, std::string_view dtype) {
  GraphText g(rows, columns, dtype);
  std::string x = g.Input("x", g.full());
  const bool is_wide = dtype == "f32" || dtype == "f64";
  if (!is_wide) x = g.Converted(x, "f32");
  std::string y = g.Softmax(x);
  if (!is_wide) y = g.Converted(y, dtype);
  return g.Return({y});
}

std::string LayerNormGraph(std::int64_t rows, std::int64_t columns, std::string_view dtype) {
  GraphText g(rows, columns, dtype);
  const bool is_wide = dtype == "f32" || dtype == "f64";
  const std::string_view wide = is_wide ? dtype : "f32";
  std::string x = g.Input("x", g.full());
  const std::string w = g.Input("w", g.ColumnType(wide));
  const std::string b = g.Input("b", g.ColumnType(wide));
  if (!is_wide) x = g.Converted(x, "f32");
  std::string y = g.LayerNorm(x, w, b);
  if (!is_wide) y = g.Converted(y, dtype);
  return g.Return({y});
}

std::string GeluLayerNormSoftmaxGraph(std::int64_t rows, std::int64_t columns) {
  GraphText g(rows, columns, "bf16");
  const std::string x = g.Input("x", g.full());
  const std::string w = g.Input("w", g.ColumnType("bf16"));
  const std::string b = g.Input("b", g.ColumnType("bf16"));
  const std::string wide_w = g.Node("convert(" + w + ")", g.ColumnType("f32"));
  const std::string wide_b = g.Node("convert(" + b + ")", g.ColumnType("f32"));
  const std::string activated = g.Converted(g.Gelu(g.Converted(x, "f32")), "bf16");
  const std::string normal =
      g.Converted(g.LayerNorm(g.Converted(activated, "f32"), wide_w, wide_b), "bf16");
  const std::string halved = g.Op("multiply", g.Converted(normal, "f32"), g.Constant("0.5"));
  return g.Return({g.Converted(g.Softmax(halved), "bf16")});
}

std::string ReduceGraph(std::int64_t a, std::int64_t b, std::int64_t c, std::string_view dtype,
                        std::string_view kind) {
  const std::string type(dtype);
  const std::string last = std::to_string(c);
  const std::string first = std::to_string(a);
  return "graph @g(%x: " + type + "[" + first + "," + std::to_string(b) + "," + last +
         "]) {\n  %y = reduce(%x) {dims=[1], kind=\"" + std::string(kind) + "\"} : " + type + "[" +
         first + "," + last + "]\n  return %y\n}\n";
}

std::string LinearGraph(const Linear& linear, std::string_view dtype) {
  const auto type = [&](std::initializer_list<std::int64_t> sizes) {
    std::string text;
    for (const std::int64_t size : sizes) {
      text += (text.empty() ? "" : ",") + std::to_string(size);
    }
    return std::string(dtype) + "[" + text + "]";
  };
  const std::string result = type({linear.m, linear.n});
  std::string inputs =
      "%x: " + type({linear.m, linear.k}) + ", %w: parameter " + type({linear.n, linear.k});
  std::string body = "  %wt = transpose(%w) {dims=[1,0]} : " + type({linear.k, linear.n}) +
                     "\n  %n0 = dot_general(%x, %wt) {lhs_batch=[], lhs_contract=[1], "
                     "rhs_batch=[], rhs_contract=[0]} : " +
                     result + "\n";
  int last = 0;
  const auto add = [&](const std::string& what) {
    const std::string before = "%n" + std::to_string(last++);
    body += "  %n" + std::to_string(last) + " = " + what + "(" + before + ", ";
  };
  if (linear.has_bias) {
    inputs += ", %b: parameter " + type({linear.n});
    body += "  %bb = broadcast_in_dim(%b) {dims=[1]} : " + result + "\n";
    add("add");
    body += "%bb) : " + result + "\n";
  }
  if (linear.has_residual) {
    inputs += ", %r: " + result;
    add("add");
    body += "%r) : " + result + "\n";
  }
  if (linear.has_relu) {
    body += "  %zero = constant() value(0) : " + result + "\n";
    add("maximum");
    body += "%zero) : " + result + "\n";
  }
  return "graph @g(" + inputs + ") {\n" + body + "  return %n" + std::to_string(last) + "\n}\n";
}

std::string BatchedGraph(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                         bool is_transposed, std::string_view dtype) {
  const auto type = [&](std::int64_t rows, std::int64_t columns) {
    return std::string(dtype) + "[" + std::to_string(batch) + "," + std::to_string(rows) + "," +
           std::to_string(columns) + "]";
  };
  const std::string contract = is_transposed ? "2" : "1";
  return "graph @g(%x: " + type(m, k) + ", %y: " + (is_transposed ? type(n, k) : type(k, n)) +
         ") {\n  %z = dot_general(%x, %y) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[0], "
         "rhs_contract=[" +
         contract + "]} : " + type(m, n) + "\n  return %z\n}\n";
}

std::string HeadsGraph(std::int64_t rows, std::int64_t heads, std::int64_t size,
                       std::string_view dtype) {
  const auto type = [&](std::initializer_list<std::int64_t> sizes) {
    std::string text;
    for (const std::int64_t dim : sizes) text += (text.empty() ? "" : ",") + std::to_string(dim);
    return std::string(dtype) + "[" + text + "]";
  };
  const std::string head = type({rows, heads, size});
  const auto part = [&](const std::string& name, std::int64_t from) {
    return "  %" + name + " = slice(%h) {start=[0," + std::to_string(from * heads) +
           ",0], limit=[" + std::to_string(rows) + "," + std::to_string((from + 1) * heads) + "," +
           std::to_string(size) + "], stride=[1,1,1]} : " + head + "\n";
  };
  const std::string scores = type({heads, rows, rows});
  const std::string wide = type({rows, heads * size});
  const std::string square = type({heads * size, heads * size});
  return "graph @g(%p: " + type({rows, 3 * heads * size}) + ", %w: parameter " + square +
         ") {\n  %h = reshape(%p) : " + type({rows, 3 * heads, size}) + "\n" + part("q", 0) +
         part("k", 1) + part("v", 2) +
         "  %s = dot_general(%q, %k) {lhs_batch=[1], lhs_contract=[2], rhs_batch=[1], "
         "rhs_contract=[2]} : " +
         scores + "\n  %c = constant() value(0.125) : " + scores +
         "\n  %t = multiply(%s, %c) : " + scores +
         "\n  %o = dot_general(%t, %v) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[1], "
         "rhs_contract=[0]} : " +
         type({heads, rows, size}) + "\n  %ot = transpose(%o) {dims=[1,0,2]} : " + head +
         "\n  %f = reshape(%ot) : " + wide +
         "\n  %y = dot_general(%f, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], "
         "rhs_contract=[1]} : " +
         wide + "\n  return %y\n}\n";
}

std::string GradientsGraph(std::int64_t batch, std::int64_t rows, std::int64_t heads,
                           std::int64_t size, std::string_view dtype) {
  const auto type = [&](std::initializer_list<std::int64_t> sizes) {
    std::string text;
    for (const std::int64_t dim : sizes) text += (text.empty() ? "" : ",") + std::to_string(dim);
    return " : " + std::string(dtype) + "[" + text + "]\n";
  };
  const std::int64_t width = heads * size;
  const std::int64_t all = batch * rows;
  const std::string flat = type({all, width});
  const std::string columns = type({width, all});
  // Of %<name>, [all, width] behind a reshape of what is transposed.
  const auto gradients = [&](const std::string& name) {
    return "  %r" + name + " = reshape(%" + name + ")" + flat + "  %x" + name +
           " = dot_general(%r" + name +
           ", %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]}" +
           type({all, 24}) + "  %t" + name + " = transpose(%r" + name + ") {dims=[1,0]}" + columns +
           "  %w" + name + " = dot_general(%t" + name +
           ", %x) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]}" +
           type({width, 24}) + "  %b" + name + " = reduce(%r" + name +
           ") {dims=[0], kind=\"add\"}" + type({width});
  };
  const auto input = [&](const char* name, std::initializer_list<std::int64_t> sizes) {
    std::string text = type(sizes);
    return std::string("%") + name + text.substr(1, text.size() - 2);
  };
  const std::int64_t products = batch * heads;
  return "graph @g(" + input("g", {batch, rows, width}) + ", " + input("m", {batch, rows, width}) +
         ", " + input("x", {all, 24}) + ", " + input("w", {width, 24}) + ", " +
         input("p", {products, rows, rows}) + ", " + input("v", {products, rows, size}) +
         ") {\n  %a = multiply(%g, %m)" + type({batch, rows, width}) +
         "  %1 = transpose(%a) {dims=[1,0,2]}" + type({rows, batch, width}) + gradients("1") +
         "  %h = dot_general(%p, %v) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[0], "
         "rhs_contract=[1]}" +
         type({products, rows, size}) + "  %hs = reshape(%h)" + type({batch, heads, rows, size}) +
         "  %2 = transpose(%hs) {dims=[0,2,1,3]}" + type({batch, rows, heads, size}) +
         gradients("2") +
         "  %k = dot_general(%v, %p) {lhs_batch=[0], lhs_contract=[1], rhs_batch=[0], "
         "rhs_contract=[1]}" +
         type({products, size, rows}) + "  %ks = reshape(%k)" + type({batch, heads, size, rows}) +
         "  %km = negate(%ks)" + type({batch, heads, size, rows}) +
         "  %3 = transpose(%km) {dims=[0,3,1,2]}" + type({batch, rows, heads, size}) +
         gradients("3") + "  return %x1, %w1, %b1, %x2, %w2, %b2, %x3, %w3, %b3\n}\n";
}

std::string ArgReduceGraph(std::int64_t a, std::int64_t b, std::int64_t c, std::string_view dtype) {
  const std::string last = std::to_string(c);
  const std::string first = std::to_string(a);
  return "graph @g(%x: " + std::string(dtype) + "[" + first + "," + std::to_string(b) + "," + last +
         "]) {\n  %y = arg_reduce(%x) {dim=1, kind=\"maximum\"} : i64[" + first + "," + last +
         "]\n  return %y\n}\n";
}

std::string TotalGraph(std::int64_t elements, std::string_view dtype) {
  const std::string type(dtype);
  return "graph @g(%x: " + type + "[" + std::to_string(elements) +
         "]) {\n  %y = reduce(%x) {dims=[0], kind=\"add\"} : " + type + "[]\n  return %y\n}\n";
}

std::string UnaryGraph(std::string_view op, std::int64_t elements, std::string_view dtype) {
  const std::string type = std::string(dtype) + "[" + std::to_string(elements) + "]";
  return "graph @g(%x: " + type + ") {\n  %y = " + std::string(op) + "(%x) : " + type +
         "\n  return %y\n}\n";
}

std::string ConcatenationGraph(int inputs, std::int64_t columns, std::string_view dtype) {
  GraphText g(3 * std::int64_t{inputs} / 2, columns, dtype);
  std::string list;
  for (int i = 0; i < inputs; ++i) {  // Of one and of two rows.
    const std::string rows = std::to_string(1 + i % 2);
    list += (i == 0 ? "" : ", ") +
            g.Input("x" + std::to_string(i),
                    std::string(dtype) + "[" + rows + "," + std::to_string(columns) + "]");
  }
  const std::string all = g.Full("concatenate(" + list + ") {dim=0}");
  return g.Return({g.Op("add", all, g.Constant("1"))});
}

std::string LongPointwiseGraph(int steps, int live, std::int64_t elements, std::string_view dtype) {
  GraphText g(1, elements, dtype);
  std::vector<std::string> values;
  for (int i = 0; i < live; ++i) values.push_back(g.Input("x" + std::to_string(i), g.full()));
  for (int i = 0; i < steps; ++i) {
    const std::string& oldest = values[values.size() - static_cast<std::size_t>(live)];
    const std::string sum = g.Op("subtract", values.back(), oldest);
    values.push_back(i % 3 == 0 ? g.Op("tanh", sum) : g.Op("multiply", sum, g.Constant("0.5")));
  }
  std::string all = values.back();
  for (int i = 2; i <= live; ++i) {
    all = g.Op("add", all, values[values.size() - static_cast<std::size_t>(i)]);
  }
  return g.Return({all});
}

std::string ReductionChainGraph(int steps, std::int64_t rows, std::int64_t columns,
                                std::string_view dtype) {
  GraphText g(rows, columns, dtype);
  std::string before = g.Input("x", g.full());
  std::string x = g.Op("tanh", before);
  const std::string count = g.Row("constant() value(" + std::to_string(columns) + ")");
  for (int i = 0; i < steps; ++i) {
    const std::string mean = g.Row("divide(" + g.Reduce(x, "add") + ", " + count + ")");
    const std::string next = g.Op("tanh", g.Op("subtract", x, g.ToRow(mean)));
    const std::string both = g.Op("add", next, before);
    before = x;
    x = g.Op("multiply", both, g.Constant("0.5"));
  }
  return g.Return({x});
}

std::string SlicesGraph(std::int64_t n, std::string_view dtype) {
  GraphText g(n, n, dtype);
  const auto type = [&](std::int64_t rows, std::int64_t columns) {
    return std::string(dtype) + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto side_by_side = [&](const std::string& x, const Ranges& ranges, int dim) {
    std::string list;
    std::int64_t size = 0;
    for (const auto& [from, to] : ranges) {
      const auto pair = [&](std::int64_t along, std::int64_t across) {
        return dim == 0 ? "[" + std::to_string(along) + "," + std::to_string(across) + "]"
                        : "[" + std::to_string(across) + "," + std::to_string(along) + "]";
      };
      const std::string part = g.Node(
          "slice(" + x + ") {start=" + pair(from, 0) + ", limit=" + pair(to, n) + ", stride=[1,1]}",
          dim == 0 ? type(to - from, n) : type(n, to - from));
      list += (list.empty() ? "" : ", ") + part;
      size += to - from;
    }
    return g.Node("concatenate(" + list + ") {dim=" + std::to_string(dim) + "}",
                  dim == 0 ? type(size, n) : type(n, size));
  };
  const std::string x = g.Input("x", g.full());
  const std::string product = g.Op("multiply", x, g.Input("y", g.full()));
  const std::string turned = side_by_side(product, {{4, n}, {0, 2}, {2, 4}}, 1);
  const std::string both = side_by_side(g.Op("add", turned, x), {{n - 1, n}, {0, n - 1}}, 0);
  const std::string sum = g.Op("add", both, side_by_side(x, {{3, n}, {0, 3}}, 1));
  // Rows and columns twice, and fewer of them.
  const std::string longer = side_by_side(sum, {{1, n}, {0, 3}, {1, 2}}, 0);
  const std::string shorter = side_by_side(product, {{n - 2, n}, {1, 3}}, 1);
  const std::string zero = g.Node("constant() value(0)", std::string(dtype) + "[]");
  const std::string padded = g.Node("pad(" + shorter + ", " + zero + ") {low=[0,1], high=[0," +
                                        std::to_string(n - 5) + "], interior=[0,0]}",
                                    type(n, n));
  return g.Return({longer, g.Op("subtract", padded, sum)});
}

std::string ShallowWaterGraph(std::int64_t n, int steps) {
  GraphText g(n, n, "f32");
  const std::string last = std::to_string(n - 1);
  const std::string all = std::to_string(n);
  // As torch.roll by 1 or -1: two slices, one after the other.
  const auto roll = [&](const std::string& x, bool back, int dim) {
    const std::string at = back ? "1" : last;
    const auto part = [&](const std::string& from, const std::string& to) {
      const bool single = (back && to == "1") || (!back && from == last);
      const std::string size = single ? "1" : last;
      const std::string start = dim == 0 ? "[" + from + ",0]" : "[0," + from + "]";
      const std::string limit = dim == 0 ? "[" + to + "," + all + "]" : "[" + all + "," + to + "]";
      const std::string type =
          dim == 0 ? "f32[" + size + "," + all + "]" : "f32[" + all + "," + size + "]";
      return g.Node("slice(" + x + ") {start=" + start + ", limit=" + limit + ", stride=[1,1]}",
                    type);
    };
    const std::string second = part("0", at);
    const std::string first = part(at, all);
    return g.Full("concatenate(" + first + ", " + second + ") {dim=" + std::to_string(dim) + "}");
  };
  const auto times = [&](const std::string& x, const std::string& value) {
    return g.Op("multiply", x, g.Constant(value));
  };
  const auto gradient = [&](const std::string& x, int dim) {
    return times(g.Op("subtract", roll(x, true, dim), roll(x, false, dim)), "0.5");
  };
  const auto laplacian = [&](const std::string& x) {
    const std::string a = g.Op("add", roll(x, true, 1), roll(x, false, 1));
    const std::string b = g.Op("add", a, roll(x, true, 0));
    return g.Op("subtract", g.Op("add", b, roll(x, false, 0)), times(x, "4"));
  };
  std::string h = g.Input("h", g.full());
  std::string u = g.Input("u", g.full());
  std::string v = g.Input("v", g.full());
  for (int step = 0; step < steps; ++step) {
    const auto moved = [&](const std::string& x, const std::string& turn, int dim) {
      const std::string along = g.Op("multiply", u, gradient(x, 1));
      const std::string across = g.Op("multiply", v, gradient(x, 0));
      const std::string carried = g.Op("add", along, across);
      const std::string forced = g.Op("subtract", turn, times(gradient(h, dim), "9.81"));
      const std::string spread = g.Op("add", forced, times(laplacian(x), "0.05"));
      return g.Op("add", x, times(g.Op("subtract", spread, carried), "0.01"));
    };
    const std::string next_u = moved(u, times(v, "0.01"), 1);
    const std::string next_v = moved(v, times(u, "-0.01"), 0);
    const std::string flow =
        g.Op("add", gradient(g.Op("multiply", h, u), 1), gradient(g.Op("multiply", h, v), 0));
    h = g.Op("subtract", h, times(flow, "0.01"));
    u = next_u;
    v = next_v;
  }
  return g.Return({h, u, v});
}

std::string AttentionGraph(const AttentionShape& shape, std::string_view dtype, bool causal) {
  GraphText g(1, 1, dtype);
  const auto type = [&](std::int64_t heads, std::int64_t rows, std::int64_t head) {
    return std::string(dtype) + "[" + std::to_string(shape.batch) + "," + std::to_string(heads) +
           "," + std::to_string(rows) + "," + std::to_string(head) + "]";
  };
  const std::string q = g.Input("q", type(shape.heads, shape.queries, shape.head));
  const std::string k = g.Input("k", type(shape.kv_heads, shape.keys, shape.head));
  const std::string v = g.Input("v", type(shape.kv_heads, shape.keys, shape.value));
  return g.Return({g.Attention({q, k, v}, causal, type(shape.heads, shape.queries, shape.value))});
}

std::string JoinedAttentionGraph(const AttentionShape& shape, std::string_view dtype, bool causal) {
  GraphText g(1, 1, dtype);
  const std::string start = std::string(dtype) + "[" + std::to_string(shape.batch) + ",";
  const std::string queries = std::to_string(shape.queries);
  const std::string heads = std::to_string(shape.heads);
  const std::string head = std::to_string(shape.head);
  const std::int64_t columns = shape.heads * shape.head;
  const std::string whole = start + queries + "," + std::to_string(columns) + "]";
  const std::string x = g.Input("x", start + queries + "," + std::to_string(3 * columns) + "]");
  std::vector<std::string> parts;
  for (int i = 0; i < 3; ++i) {
    std::string part = g.Node("slice(" + x + ") {start=[0,0," + std::to_string(i * columns) +
                                  "], limit=[" + std::to_string(shape.batch) + "," + queries + "," +
                                  std::to_string((i + 1) * columns) + "], stride=[1,1,1]}",
                              whole);
    part = g.Node("reshape(" + part + ")", start + queries + "," + heads + "," + head + "]");
    parts.push_back(g.Node("transpose(" + part + ") {dims=[0,2,1,3]}",
                           start + heads + "," + queries + "," + head + "]"));
  }
  std::string result = g.Attention(parts, causal, start + heads + "," + queries + "," + head + "]");
  result = g.Node("transpose(" + result + ") {dims=[0,2,1,3]}",
                  start + queries + "," + heads + "," + head + "]");
  return g.Return({g.Node("reshape(" + result + ")", whole)});
}

std::vector<std::pair<std::string, std::string>> UpdatingGraphs(std::int64_t rows,
                                                                std::int64_t columns) {
  const std::pair<const char*, const char*> graphs[] = {
      {"an optimizer's", R"(
graph @g(%p: f32[R,C], %m: f32[R,C], %v: f32[R,C], %g: f32[R,C], %t: f32[]) {
  %one = constant() value(1) : f32[]
  %t2 = add(%t, %one) : f32[]
  %b = constant() value(0.9) : f32[R,C]
  %bm = multiply(%b, %m) : f32[R,C]
  %m2 = add(%bm, %g) : f32[R,C]
  %gg = multiply(%g, %g) : f32[R,C]
  %bv = multiply(%b, %v) : f32[R,C]
  %v2 = add(%bv, %gg) : f32[R,C]
  %a = abs(%v2) : f32[R,C]
  %s = sqrt(%a) : f32[R,C]
  %e = add(%s, %b) : f32[R,C]
  %q = divide(%m2, %e) : f32[R,C]
  %n = broadcast_in_dim(%t2) {dims=[]} : f32[R,C]
  %r = multiply(%q, %n) : f32[R,C]
  %p2 = subtract(%p, %r) : f32[R,C]
  return %p2 updates %p, %m2 updates %m, %v2 updates %v, %t2 updates %t
})"},
      {"rows that are reduced", R"(
graph @g(%x: f32[R,C], %y: f32[R,C]) {
  %r = reduce(%x) {dims=[1], kind="maximum"} : f32[R]
  %b = broadcast_in_dim(%r) {dims=[0]} : f32[R,C]
  %z = subtract(%x, %b) : f32[R,C]
  %s = add(%y, %y) : f32[R,C]
  return %z updates %x, %s updates %y, %r
})"},
      {"statistics of columns", R"(
graph @g(%x: f32[R,C], %mean: f32[C]) {
  %s = reduce(%x) {dims=[0], kind="add"} : f32[C]
  %c = constant() value(0.01) : f32[C]
  %n = multiply(%s, %c) : f32[C]
  %o = multiply(%mean, %c) : f32[C]
  %u = add(%o, %n) : f32[C]
  %b = broadcast_in_dim(%n) {dims=[1]} : f32[R,C]
  %y = subtract(%x, %b) : f32[R,C]
  return %u updates %mean, %y
})"},
      {"rows beside what is larger", R"(
graph @g(%x: f32[R,C], %y: f32[R,C,5]) {
  %b = broadcast_in_dim(%x) {dims=[0,1]} : f32[R,C,5]
  %z = multiply(%b, %y) : f32[R,C,5]
  %r = reduce(%z) {dims=[1,2], kind="add"} : f32[R]
  %t = broadcast_in_dim(%r) {dims=[0]} : f32[R,C]
  %u = add(%x, %x) : f32[R,C]
  %v = add(%x, %t) : f32[R,C]
  return %u updates %x, %v, %z
})"},
      {"places", R"(
graph @g(%x: f32[R,C], %u: f32[2,C]) {
  %i = constant() value(1) : i64[2,1]
  %y = scatter(%x, %i, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="add"} : f32[R,C]
  %s = reduce(%y) {dims=[0], kind="add"} : f32[C]
  return %y updates %x, %s
})"},
      {"each other", R"(
graph @g(%x: f32[R,C], %y: f32[R,C], %z: f32[R,C]) {
  %a = add(%x, %z) : f32[R,C]
  %b = subtract(%y, %z) : f32[R,C]
  return %b updates %x, %a updates %y
})"},
      {"beside who reads what they write over", R"(
graph @g(%x: f32[R,C], %y: f32[C,R], %z: f32[R,C], %u: f32[R,C], %v: f32[C]) {
  %t = transpose(%x) {dims=[1,0]} : f32[C,R]
  %a = add(%t, %y) : f32[C,R]
  %b = multiply(%x, %x) : f32[R,C]
  %c = add(%z, %z) : f32[R,C]
  %d = transpose(%z) {dims=[1,0]} : f32[C,R]
  %e = subtract(%d, %a) : f32[C,R]
  %f = subtract(%u, %u) : f32[R,C]
  %h = add(%v, %v) : f32[C]
  return %a, %b updates %x, %c updates %z, %e updates %y, %f updates %u, %h updates %v
})"},
      {"what a product reads", R"(
graph @g(%x: f32[R,C], %w: f32[C,C]) {
  %p = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[R,C]
  %y = add(%p, %x) : f32[R,C]
  %v = add(%w, %w) : f32[C,C]
  return %y updates %x, %v updates %w
})"},
  };
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, form] : graphs) {
    std::string text;
    for (const char* c = form; *c != 0; ++c) {
      const bool is_size = (*c == 'R' || *c == 'C') && (c[-1] == '[' || c[-1] == ',');
      text += !is_size ? std::string(1, *c) : std::to_string(*c == 'R' ? rows : columns);
    }
    found.emplace_back(name, std::move(text));
  }
  return found;
}

}  // namespace stoker::device_test
