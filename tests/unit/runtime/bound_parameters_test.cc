#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "runtime/cpu/prepared_store.h"
#include "runtime/executable.h"
#include "tests/unit/runtime/executable_case.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using cpu::AddDoubledWeight;
using cpu::Device;
using cpu::PlanBuilder;

TEST_F(ExecutableTest, Run_ParameterPreparedOnce_AddsTwiceTheWeight) {
  const auto executable = Load(AddDoubledWeight(1000));
  const Floats a = Iota(1000, 0);
  Floats w = Iota(1000, 5);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 2, &binding).ok());
  Floats expected(1000);
  for (std::size_t i = 0; i < 1000; ++i) expected[i] = a[i] + 2 * w[i];
  for (const int threads : {1, 2, 0, 7}) {
    EXPECT_EQ(Run(*executable, *binding, a, w, threads), expected) << threads << " threads";
  }
}

TEST_F(ExecutableTest, BindParameters_SameVersion_KeepsPreparedData) {
  const auto executable = Load(AddDoubledWeight(64));
  const Floats a(64, 0);
  Floats w(64, 1);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  w[0] = 10;  // Behind the caller's own back: the version says that nothing changed.
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, w, 1)[0], 2);
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 2}}, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, w, 1)[0], 20);
}

TEST_F(ExecutableTest, BindParameters_OnlyWhatIsNotPreparedChanged_KeepsPreparedData) {
  PlanBuilder builder = AddDoubledWeight(64);
  builder.Input(builder.artifact.plan.inputs[1], InputRole::kParameter);
  const auto executable = Load(builder);
  Floats w(64, 1);
  const Floats cache(64, 0);
  const auto bind = [&](std::uint64_t version, std::uint64_t cache_version,
                        std::shared_ptr<const Binding>* binding) {
    const std::array parameters = {Parameter{w.data(), version},
                                   Parameter{cache.data(), cache_version}};
    ASSERT_TRUE(Bind(*executable, parameters, 1, binding).ok());
    EXPECT_TRUE(std::ranges::equal((*binding)->parameters, parameters));
  };
  std::shared_ptr<const Binding> binding;
  bind(1, 1, &binding);
  const auto prepared = binding->prepared;
  bind(1, 2, &binding);
  EXPECT_EQ(binding->prepared, prepared);
  bind(2, 2, &binding);
  EXPECT_NE(binding->prepared, prepared);
}

// Calls that look at a piece of little memory once in a while, until one of them has seen a change.
constexpr int kManyCalls = 10'000'000;

TEST_F(ExecutableTest, Run_WeightWrittenUnderTheSameVersion_IsSeenAndPreparedAgain) {
  const auto first = Load(AddDoubledWeight(64));
  PlanBuilder second_builder = AddDoubledWeight(64);
  second_builder.artifact.plan.steps.push_back(second_builder.artifact.plan.steps[0]);
  const auto second = Load(second_builder);
  const Floats a(64, 0);
  Floats w(64, 1);
  const std::array parameters = {Parameter{w.data(), 1}};
  std::shared_ptr<const Binding> binding;
  std::shared_ptr<const Binding> other;
  ASSERT_TRUE(Bind(*first, parameters, 1, &binding).ok());
  ASSERT_TRUE(Bind(*second, parameters, 1, &other).ok());
  w[63] = 10;
  for (int i = 0; i < kManyCalls && !binding->prepared->IsStale(); ++i) {
    Run(*first, *binding, a, w, 1);
  }
  EXPECT_EQ(binding->prepared->Changed(), 0U);
  EXPECT_EQ(first->prepared_parameters()[0], 0U);
  ASSERT_TRUE(Bind(*first, parameters, 1, &binding).ok());
  EXPECT_FALSE(binding->prepared->IsStale());
  EXPECT_EQ(Run(*first, *binding, a, w, 1)[63], 20);
  // Whoever else is bound to them takes what was made anew.
  EXPECT_TRUE(other->prepared->IsStale());
  ASSERT_TRUE(Bind(*second, parameters, 1, &other).ok());
  EXPECT_EQ(other->prepared, binding->prepared);
}

TEST_F(ExecutableTest, Run_WeightsThatReplacedOthersAndStay_AreWatchedAfterSomeCalls) {
  const auto executable = Load(AddDoubledWeight(64));
  const Floats a(64, 0);
  Floats w(64, 1);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  w.assign(64, 2);
  const std::array replaced = {Parameter{w.data(), 2}};
  ASSERT_TRUE(Bind(*executable, replaced, 1, &binding).ok());
  w[5] = 7;
  for (int i = 0; i < Prepared::kCallsOnTrial; ++i) {
    EXPECT_FALSE(binding->prepared->IsStale()) << i;
    EXPECT_EQ(Run(*executable, *binding, a, w, 1)[5], 4);
  }
  EXPECT_TRUE(binding->prepared->IsStale());
  EXPECT_FALSE(binding->prepared->Changed());
  ASSERT_TRUE(Bind(*executable, replaced, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, w, 1)[5], 14);
  w[6] = 8;
  for (int i = 0; i < kManyCalls && !binding->prepared->IsStale(); ++i) {
    Run(*executable, *binding, a, w, 1);
  }
  EXPECT_EQ(binding->prepared->Changed(), 0U);
}

TEST_F(ExecutableTest, BindParameters_OtherAddress_PreparesAgain) {
  const auto executable = Load(AddDoubledWeight(64));
  const Floats a(64, 0);
  const Floats w(64, 1);
  const Floats other(64, 3);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{other.data(), 1}}, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, other, 1)[0], 6);
}

TEST_F(ExecutableTest, BindParameters_TwoShapesOfTheSameWeights_ShareOnePreparedCopy) {
  // The same prepare list, another plan: here with one more launch.
  PlanBuilder second_builder = AddDoubledWeight(64);
  second_builder.artifact.plan.steps.push_back(second_builder.artifact.plan.steps[0]);
  const auto first = Load(AddDoubledWeight(64));
  const auto second = Load(second_builder);
  const Floats w(64, 1);
  const std::array parameters = {Parameter{w.data(), 1}};
  std::shared_ptr<const Binding> a;
  std::shared_ptr<const Binding> b;
  ASSERT_TRUE(Bind(*first, parameters, 1, &a).ok());
  ASSERT_TRUE(Bind(*second, parameters, 1, &b).ok());
  EXPECT_EQ(a->prepared, b->prepared);
}

class StoredExecutableTest : public ExecutableTest {
 protected:
  // A process of its own: nothing is shared but the files.
  struct Process {
    std::unique_ptr<Device> device = Device::Create().value();
    std::shared_ptr<cpu::PreparedStore> store;
    std::unique_ptr<Executable> executable;
    std::shared_ptr<const Binding> binding;
  };
  Process Start(const PlanBuilder& builder) const {
    Process process;
    process.store = std::make_shared<cpu::PreparedStore>(
        cpu::PreparedStore::Options{folder_.path(), /*max_bytes=*/1 << 20, /*min_bytes=*/1});
    process.executable =
        Executable::Load(*process.device, builder.Bytes(), builder.artifact.request_key,
                         builder.Source(), process.store)
            .value();
    return process;
  }
  static bool BindsFromFile(Process& process, const Floats& w, std::uint64_t version) {
    const std::array parameters = {Parameter{w.data(), version}};
    EXPECT_TRUE(BindOn(*process.device, *process.executable, parameters, 2, &process.binding).ok());
    process.store->Flush(std::chrono::hours(1));
    return process.binding->prepared->is_from_file();
  }

  TempFolder folder_;
};

TEST_F(StoredExecutableTest, BindParameters_SameContentsInTheNextProcess_AreNotPreparedAgain) {
  const Floats w = Iota(1000, 5);
  const Floats copy = w;
  const Floats a = Iota(1000, 0);
  Process first = Start(AddDoubledWeight(1000));
  Process second = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  EXPECT_TRUE(BindsFromFile(second, copy, 7));
  EXPECT_EQ(RunOn(*second.device, *second.executable, *second.binding, a, copy, 2),
            RunOn(*first.device, *first.executable, *first.binding, a, w, 2));
}

TEST_F(StoredExecutableTest, BindParameters_OtherContents_ArePrepared) {
  Floats w = Iota(1000, 5);
  Process first = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  w[999] += 1;
  Process second = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(second, w, 1));
  EXPECT_EQ(RunOn(*second.device, *second.executable, *second.binding, Floats(1000, 0), w, 1)[999],
            2 * w[999]);
}

TEST_F(StoredExecutableTest, BindParameters_OtherWork_IsDone) {
  const Floats w = Iota(1000, 5);
  Process first = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  Process other = Start(AddDoubledWeight(999));
  EXPECT_FALSE(BindsFromFile(other, w, 1));
}

TEST_F(StoredExecutableTest, BindParameters_WeightsThatReplaceOthers_ArePreparedAndNotKept) {
  const Floats w = Iota(1000, 5);
  const Floats trained = Iota(1000, 6);
  Process first = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  EXPECT_FALSE(BindsFromFile(first, trained, 2));
  EXPECT_FALSE(BindsFromFile(first, w, 3));
  Process second = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(second, trained, 1));
}

TEST_F(ExecutableTest, BindParameters_WrongCount_InvalidArgument) {
  const auto executable = Load(AddDoubledWeight(64));
  std::shared_ptr<const Binding> binding;
  const Status status = Bind(*executable, {}, 1, &binding);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "0 parameters are given; the plan has 1.");
}

}  // namespace
}  // namespace stoker
