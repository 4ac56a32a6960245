#include "protocol/key/compile_request.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

// What a key is made of, with the graph by its digest alone.
struct Request {
  Digest graph = Sha256Of("a graph");
  Target target = Target::Parse("cpu/x86-64-v4+avx512_bf16").value();
  CompileOptions options;
  std::string epoch = "stoker-1;llvm-22.1.8";

  Digest Key() const { return KeyOf(graph, target, options, epoch).digest; }
  std::vector<KeyField> Fields() const { return FieldsOf(graph, target, options, epoch); }
};

// A change here makes every stored artifact unreachable. When it is meant, raise the number in the
// domain string of compile_request.cc and take over the new digest.
TEST(KeyOf, Golden) {
  EXPECT_EQ(Request().Key().ToHex(),
            "1646132af713134d2a504fe9ae20c3489edcc1372849d4a8193bb72fe442f2dc");
}

struct Mutation {
  std::string tag;  // Of the field that differs.
  std::function<void(Request&)> apply;
};

const std::vector<Mutation>& Mutations() {
  static const std::vector<Mutation> mutations = {
      {"compiler_epoch", [](Request& r) { r.epoch = "stoker-2;llvm-22.1.8"; }},
      {"target.kind", [](Request& r) { r.target = Target::Parse("cuda/sm_90a").value(); }},
      {"target.arch",
       [](Request& r) {
         // Another level alone: no feature that one of them lacks.
         r.target = Target::Parse("cpu/x86-64-v3").value();
       }},
      {"target.features",
       [](Request& r) { r.target = Target::Parse("cpu/x86-64-v4+amx_bf16").value(); }},
      {"options.numerics", [](Request& r) { r.options.numerics = Numerics::kMedium; }},
      {"graph", [](Request& r) { r.graph = Sha256Of("another graph"); }},
  };
  return mutations;
}

TEST(KeyOf, AnyFieldChanged_OtherKeyAndTheFieldIsNamed) {
  const Request base;
  for (std::size_t i = 0; i < Mutations().size(); ++i) {
    const Mutation& mutation = Mutations()[i];
    Request changed;
    mutation.apply(changed);
    EXPECT_NE(changed.Key(), base.Key()) << mutation.tag << ", mutation " << i;
    const std::vector<KeyField> before = base.Fields();
    const std::vector<KeyField> after = changed.Fields();
    ASSERT_EQ(before.size(), after.size());
    std::string differing;
    for (std::size_t f = 0; f < before.size(); ++f) {
      EXPECT_EQ(before[f].tag, after[f].tag);
      if (before[f].digest == after[f].digest) continue;
      EXPECT_NE(before[f].text, after[f].text) << before[f].tag << ", mutation " << i;
      // Changing a target's kind or level changes what may follow it.
      if (differing.empty()) differing = before[f].tag;
    }
    EXPECT_EQ(differing, mutation.tag) << "mutation " << i;
  }
}

TEST(KeyOf, MutationsCoverEveryField) {
  std::set<std::string> covered;
  for (const Mutation& mutation : Mutations()) covered.insert(mutation.tag);
  std::set<std::string> fields;
  for (const KeyField& field : Request().Fields()) fields.insert(field.tag);
  EXPECT_EQ(covered, fields);
}

TEST(KeyOf, TargetFeaturesInAnotherOrder_SameKey) {
  Request a;
  a.target = Target::Parse("cpu/x86-64-v4+avx512_bf16+amx_bf16").value();
  Request b;
  b.target = Target::Parse("cpu/x86-64-v4+amx_bf16+avx512_bf16").value();
  EXPECT_EQ(a.Key(), b.Key());
}

// Whether the golden key comes out of a process with another PID, address space, working folder,
// environment and rank.
TEST(KeyOf, AnotherProcessElsewhere_SameKey) {
  const pid_t child = fork();
  if (child == 0) {
    const bool moved = chdir("/") == 0;
    const char* const environment[] = {"RANK=7",           "LOCAL_RANK=3", "CUDA_VISIBLE_DEVICES=5",
                                       "PYTHONHASHSEED=1", "LC_ALL=tr_TR", nullptr};
    if (moved) {
      execle("/proc/self/exe", "another-name", "--gtest_filter=KeyOf.Golden", "--gtest_brief=1",
             nullptr, environment);
    }
    _exit(99);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// tanh(a) + exp(b), built in two insertion orders, under two names.
Graph TwoBranches(bool tanh_first, std::string name) {
  GraphBuilder builder(std::move(name));
  const TensorType type{DType::kF32, Shape{SymDim(4)}};
  const ValueId a = builder.Input(type);
  const ValueId b = builder.Input(type);
  ValueId left = 0;
  ValueId right = 0;
  if (tanh_first) left = builder.Add(OpKind::kTanh, std::array{a});
  right = builder.Add(OpKind::kExponential, std::array{b});
  if (!tanh_first) left = builder.Add(OpKind::kTanh, std::array{a});
  const ValueId sum = builder.Add(OpKind::kAdd, std::array{left, right});
  return builder.Build(std::array{sum}).value();
}

CompileRequest WholeRequest(Graph graph) {
  const Request parts;
  return CompileRequest{std::move(graph), parts.target, parts.options, parts.epoch};
}

TEST(KeyOf, InsertionOrderAndNames_ChangeNothing) {
  const CompileRequest base = WholeRequest(TwoBranches(true, "a"));
  EXPECT_EQ(KeyOf(WholeRequest(TwoBranches(false, "a"))), KeyOf(base));
  EXPECT_EQ(KeyOf(WholeRequest(TwoBranches(true, "another name"))), KeyOf(base));
}

TEST(KeyOf, WholeRequest_SameKeyAsItsParts) {
  const CompileRequest whole = WholeRequest(TwoBranches(true, "a"));
  Request parts;
  parts.graph = whole.graph.digest();
  EXPECT_EQ(KeyOf(whole).digest, parts.Key());
  const std::vector<KeyField> fields = FieldsOf(whole);
  ASSERT_EQ(fields.size(), parts.Fields().size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].digest, parts.Fields()[i].digest) << fields[i].tag;
  }
}

Graph ProductOf(DType dtype) {
  GraphBuilder builder("product");
  const ValueId x = builder.Input({dtype, Shape{SymDim(4), SymDim(4)}});
  Attributes attributes;
  attributes.Set(AttrName::kLhsBatch, std::vector<std::int64_t>{});
  attributes.Set(AttrName::kRhsBatch, std::vector<std::int64_t>{});
  attributes.Set(AttrName::kLhsContract, std::vector<std::int64_t>{1});
  attributes.Set(AttrName::kRhsContract, std::vector<std::int64_t>{0});
  const ValueId product = builder.Add(OpKind::kDotGeneral, std::array{x, x}, attributes);
  return builder.Build(std::array{product}).value();
}

// What numerics leave of themselves in the request of a graph for a target.
TEST(Canonical, Numerics_StayWhereACompileReadsThem) {
  const std::string amx = "cpu/x86-64-v4+amx_bf16+avx512_bf16";
  struct Row {
    Graph graph;
    std::string target;
    bool reads;
  };
  const std::vector<Row> rows = {{ProductOf(DType::kF32), amx, true},
                                 {ProductOf(DType::kF32), "cpu/x86-64-v4+avx512_bf16", false},
                                 {ProductOf(DType::kF32), "cpu/x86-64-v3", false},
                                 {ProductOf(DType::kF32), "cuda/sm_90a", true},
                                 {ProductOf(DType::kBF16), "cuda/sm_90a", false},
                                 {ProductOf(DType::kBF16), amx, false},
                                 {ProductOf(DType::kF64), amx, false},
                                 {TwoBranches(true, "a"), amx, false}};
  for (const Row& row : rows) {
    const Target target = Target::Parse(row.target).value();
    EXPECT_EQ(ReadsNumerics(row.graph, target), row.reads) << row.target;
    for (const Numerics numerics : {Numerics::kHighest, Numerics::kHigh, Numerics::kMedium}) {
      EXPECT_EQ(Canonical({numerics}, row.graph, target).numerics,
                row.reads ? numerics : Numerics::kHighest)
          << row.target << " " << PrintGraph(row.graph);
    }
  }
}

TEST(KeyLogOf, OneLinePerFieldThenTheKey) {
  const CompileRequest request = WholeRequest(TwoBranches(true, "a"));
  std::string expected = "stoker.request-key.3\n";
  for (const KeyField& field : FieldsOf(request)) {
    expected += field.tag + " = " + field.text + "  [" + field.digest.ToHex() + "]\n";
  }
  expected += "key [" + KeyOf(request).digest.ToHex() + "]\n";
  EXPECT_EQ(KeyLogOf(request), expected);
}

// {tag=text, ...}
std::string TextOf(const std::vector<const KeyField*>& fields) {
  std::string text;
  for (const KeyField* field : fields) text += field->tag + "=" + field->text + ";";
  return text;
}

TEST(KeyFields, DifferencesOf_NamesWhatTheOtherHasOtherwiseOrNotAtAll) {
  const auto field = [](const std::string& tag, const std::string& text) {
    return KeyField{tag, text, Sha256Of(text)};
  };
  const std::vector<KeyField> one = {field("a", "1"), field("b", "2"), field("b", "3")};
  const std::vector<KeyField> other = {field("b", "3"), field("a", "4"), field("c", "5")};
  EXPECT_EQ(TextOf(DifferencesOf(one, other)), "a=4;c=5;");
  EXPECT_EQ(TextOf(DifferencesOf(other, one)), "a=1;b=2;");
  EXPECT_EQ(TextOf(DifferencesOf(one, one)), "");
  EXPECT_EQ(FindField(one, "b"), &one[1]);
  EXPECT_EQ(FindField(one, "c"), nullptr);
  EXPECT_EQ(TextOf(one, "b"), "2");
  EXPECT_EQ(TextOf(one, "c"), "");
}

}  // namespace
}  // namespace stoker
