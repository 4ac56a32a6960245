#include "client/core/execution/update_check.h"

#include <gtest/gtest.h>

#include <random>

namespace stoker {
namespace {

// Inputs at these distances from an address that nobody reads.
struct Input {
  std::int64_t begin, bytes;
  bool is_updated;
};

const void* At(std::int64_t distance) {
  return reinterpret_cast<const void*>(std::uintptr_t{1} << 20 |
                                       static_cast<std::uintptr_t>(distance));
}

Status Check(const std::vector<Input>& inputs) {
  LaunchPlan plan;
  std::vector<std::int64_t> bytes;
  std::vector<const void*> addresses;
  for (const Input& input : inputs) {
    plan.inputs.emplace_back();
    bytes.push_back(input.bytes);
    addresses.push_back(At(input.begin));
    if (!input.is_updated) continue;
    plan.outputs.emplace_back();
    plan.outputs.back().updates_input = static_cast<std::int32_t>(addresses.size() - 1);
  }
  UpdateCheck check(plan, bytes);
  const Status status = check.Check(addresses);
  // As the call before was, and one that was wrong is looked at again.
  EXPECT_EQ(check.Check(addresses).ok(), status.ok());
  return status;
}

TEST(UpdateCheck, OfTheSameMemoryOfOthers_IsNoMatter) {
  EXPECT_TRUE(Check({{0, 8, false}, {0, 8, false}, {4, 8, false}, {12, 4, true}}).ok());
}

TEST(UpdateCheck, OfTwoThatAreUpdated_NamesThem) {
  const Status status = Check({{0, 8, true}, {100, 8, false}, {7, 1, true}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "Input 2, which the call updates, shares memory with input 0.");
}

TEST(UpdateCheck, OfRandomInputs_IsAsEachPairSays) {
  std::mt19937 random(7);
  int shared = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Input> inputs(2 + random() % 6);
    for (Input& input : inputs) {
      input.begin = static_cast<std::int64_t>(random() % 40);
      input.bytes = static_cast<std::int64_t>(random() % 8);
      input.is_updated = random() % 3 == 0;
    }
    bool expected = true;
    for (std::size_t a = 0; a < inputs.size(); ++a) {
      for (std::size_t b = 0; b < inputs.size(); ++b) {
        const auto& [begin, bytes, is_updated] = inputs[a];
        const auto& [other, its_bytes, _] = inputs[b];
        const bool share =
            bytes > 0 && its_bytes > 0 && begin < other + its_bytes && other < begin + bytes;
        if (a != b && is_updated && share) expected = false;
      }
    }
    EXPECT_EQ(Check(inputs).ok(), expected);
    shared += expected ? 0 : 1;
  }
  EXPECT_GT(shared, 300);
}

}  // namespace
}  // namespace stoker
