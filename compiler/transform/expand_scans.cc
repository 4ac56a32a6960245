// A scan is a while that counts its rows: it reads them where they lie, and writes those of its
// stacked results one after the other.
#include <algorithm>

#include "compiler/transform/passes.h"
#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

const TensorType kCount{DType::kI64, {}};

using Values = std::vector<ValueId>;

TensorType OneRow(const TensorType& type, const SymDim& rows) {
  std::vector<SymDim> dims = {rows};
  dims.insert(dims.end(), type.shape.begin(), type.shape.end());
  return {type.dtype, Shape(std::move(dims))};
}

// Adds the nodes of `graph`, whose inputs are `inputs`; what each of its values became.
Values AddNodes(const Graph& graph, Values inputs, GraphBuilder& builder) {
  Values values = std::move(inputs);
  values.resize(graph.values().size(), kNoValue);
  for (const Node& node : graph.nodes()) {
    Values operands;
    std::vector<TensorType> types;
    for (const ValueId operand : node.operands) operands.push_back(values[operand]);
    for (const ValueId result : node.results) types.push_back(graph.type(result));
    if (node.kind == OpKind::kConstant) {
      values[node.results[0]] = builder.Constant(types[0], node.constant);
      continue;
    }
    const Values results = builder.AddMulti(node.kind, operands, node.attributes, types);
    for (std::size_t i = 0; i < node.results.size(); ++i) values[node.results[i]] = results[i];
  }
  return values;
}

// The regions of a while whose operands are: what the scan carries, its stacked results so far, the
// row, then the scan's other operands. All types are those of the scan's body.
class ScanRegions {
 public:
  ScanRegions(const Node& scan, std::int64_t rows)
      : body_(scan.attributes.GraphOf(AttrName::kBody)),
        carried_(static_cast<std::size_t>(scan.attributes.Int(AttrName::kCarried))),
        scanned_(static_cast<std::size_t>(scan.attributes.Int(AttrName::kScanned))),
        rows_(rows) {}

  Result<Graph> Condition() const {
    GraphBuilder builder(body_.name() + "_rows");
    const Values inputs = Inputs(builder);
    const ValueId limit = builder.Scalar(kCount, static_cast<double>(rows_));
    const Values compared = {inputs[body_.outputs().size()], limit};
    const ValueId goes_on =
        builder.Add(OpKind::kCompare, compared, {{AttrName::kDirection, std::string("LT")}});
    return builder.Build({&goes_on, 1});
  }

  Result<Graph> Body() const {
    GraphBuilder builder(body_.name());
    const Values inputs = Inputs(builder);
    const std::size_t first_other = body_.outputs().size() + 1;
    const ValueId row = inputs[first_other - 1];
    Values given(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried_));
    for (std::size_t i = first_other; i < inputs.size(); ++i) {
      const bool is_scanned = i < first_other + scanned_;
      given.push_back(is_scanned ? RowOf(inputs[i], row, builder) : inputs[i]);
    }
    const Values values = AddNodes(body_, std::move(given), builder);
    Values outputs;
    for (std::size_t i = 0; i < body_.outputs().size(); ++i) {
      const ValueId output = values[body_.outputs()[i]];
      outputs.push_back(i < carried_ ? output : WithRow(inputs[i], row, output, builder));
    }
    const Values sum = {row, builder.Scalar(kCount, 1)};
    outputs.push_back(builder.Add(OpKind::kAdd, sum));
    return builder.Build(outputs);
  }

 private:
  Values Inputs(GraphBuilder& builder) const {
    Values inputs;
    for (std::size_t i = 0; i < carried_; ++i) inputs.push_back(builder.Input(InputType(i)));
    for (std::size_t i = carried_; i < body_.outputs().size(); ++i) {
      inputs.push_back(builder.Input(OneRow(body_.type(body_.outputs()[i]), rows_)));
    }
    inputs.push_back(builder.Input(kCount));
    for (std::size_t i = carried_; i < body_.inputs().size(); ++i) {
      const bool is_scanned = i < carried_ + scanned_;
      inputs.push_back(builder.Input(is_scanned ? OneRow(InputType(i), rows_) : InputType(i)));
    }
    return inputs;
  }

  const TensorType& InputType(std::size_t i) const { return body_.type(body_.inputs()[i].value); }

  static ValueId RowOf(ValueId matrix, ValueId row, GraphBuilder& builder) {
    const TensorType type = builder.type(matrix);
    std::vector<SymDim> sizes = type.shape.dims();
    sizes[0] = 1;
    Values operands = {matrix, row};
    operands.resize(1 + sizes.size(), builder.Scalar(kCount, 0));
    const ValueId slice =
        builder.Add(OpKind::kDynamicSlice, operands, {{AttrName::kSliceSizes, sizes}});
    const TensorType row_type{type.dtype, Shape({sizes.begin() + 1, sizes.end()})};
    return builder.Add(OpKind::kReshape, {&slice, 1}, {}, row_type);
  }

  // `matrix` with that row in its place: a scatter touches nothing else.
  static ValueId WithRow(ValueId matrix, ValueId row, ValueId values, GraphBuilder& builder) {
    std::vector<std::int64_t> window;
    for (int i = 1; i < builder.type(matrix).shape.rank(); ++i) window.push_back(i);
    const ValueId index =
        builder.Add(OpKind::kReshape, {&row, 1}, {}, TensorType{DType::kI64, {1, 1}});
    const ValueId update =
        builder.Add(OpKind::kReshape, {&values, 1}, {}, OneRow(builder.type(values), 1));
    const Values operands = {matrix, index, update};
    return builder.Add(OpKind::kScatter, operands,
                       {{AttrName::kKind, std::string("assign")},
                        {AttrName::kUpdateWindowDims, window},
                        {AttrName::kInsertedWindowDims, std::vector<std::int64_t>{0}},
                        {AttrName::kScatterDims, std::vector<std::int64_t>{0}},
                        {AttrName::kIndexVectorDim, std::int64_t{1}}});
  }

  const Graph& body_;
  const std::size_t carried_;
  const std::size_t scanned_;
  const std::int64_t rows_;
};

// The scan's results.
Result<Values> AddWhile(const Graph& graph, const Node& scan, const Values& operands,
                        GraphBuilder& builder) {
  const auto carried = static_cast<std::size_t>(scan.attributes.Int(AttrName::kCarried));
  const SymDim& rows = graph.type(scan.operands[carried]).shape[0];
  if (!rows.IsConstant()) {
    return Unimplemented("scan: Its number of rows is " + rows.ToString() +
                         ", which has to be known.");
  }
  if (rows == SymDim(0)) {
    Values results(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t i = carried; i < scan.results.size(); ++i) {
      results.push_back(builder.Scalar(graph.type(scan.results[i]), 0));
    }
    return results;
  }
  const ScanRegions regions(scan, rows.constant());
  STOKER_TRY(Graph condition, regions.Condition());
  STOKER_TRY(Graph body, regions.Body());
  Values given(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carried));
  for (std::size_t i = carried; i < scan.results.size(); ++i) {
    given.push_back(builder.Scalar(graph.type(scan.results[i]), 0));
  }
  given.push_back(builder.Scalar(kCount, 0));
  given.insert(given.end(), operands.begin() + static_cast<std::ptrdiff_t>(carried),
               operands.end());
  Values results = builder.AddMulti(OpKind::kWhile, given,
                                    {{AttrName::kCondition, Region(std::move(condition))},
                                     {AttrName::kBody, Region(std::move(body))}});
  results.pop_back();
  return results;
}

}  // namespace

Result<Graph> ExpandScans(const Graph& graph) {
  const auto is_scan = [](const Node& node) { return node.kind == OpKind::kScan; };
  if (std::ranges::none_of(graph.nodes(), is_scan)) return graph;
  GraphBuilder builder(graph.name());
  Values values(graph.values().size(), kNoValue);
  for (const GraphInput& input : graph.inputs()) {
    values[input.value] = builder.Input(graph.type(input.value), input.role);
  }
  for (const Node& node : graph.nodes()) {
    Values operands;
    std::vector<TensorType> types;
    for (const ValueId operand : node.operands) operands.push_back(values[operand]);
    for (const ValueId result : node.results) types.push_back(graph.type(result));
    Values results;
    if (is_scan(node)) {
      STOKER_TRY(results, AddWhile(graph, node, operands, builder));
    } else if (node.kind == OpKind::kConstant) {
      results = {builder.Constant(types[0], node.constant)};
    } else {
      results = builder.AddMulti(node.kind, operands, node.attributes, types);
    }
    if (!builder.ok()) return builder.error();
    for (std::size_t i = 0; i < node.results.size(); ++i) values[node.results[i]] = results[i];
  }
  Values outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(values[output]);
  return builder.Build(outputs, graph.updates());
}

}  // namespace stoker
