#include "daemon/service/worker/compile_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace stoker {
namespace {

using Id = CompileQueue::Id;

// Of these, the one that has a place; each is served alone.
Id Placed(const CompileQueue& queue, const std::vector<Id>& waiting) {
  const auto it =
      std::find_if(waiting.begin(), waiting.end(), [&](Id id) { return queue.HasPlace(id); });
  EXPECT_NE(it, waiting.end()) << "nobody has the place";
  return it == waiting.end() ? 0 : *it;
}

// Ends what runs and says what comes next, until nobody waits.
std::vector<Id> Drain(CompileQueue& queue, Id running, std::vector<Id> waiting) {
  std::vector<Id> order;
  while (!waiting.empty()) {
    queue.Leave(running);
    running = Placed(queue, waiting);
    order.push_back(running);
    std::erase(waiting, running);
  }
  queue.Leave(running);
  return order;
}

TEST(CompileQueue, OneJob_KeepsItsOrder) {
  CompileQueue queue(1);
  const Id running = queue.Enter("a", "");
  EXPECT_TRUE(queue.HasPlace(running));
  std::vector<Id> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(queue.Enter("a", ""));
  for (const Id id : waiting) EXPECT_FALSE(queue.HasPlace(id));
  EXPECT_EQ(Drain(queue, running, waiting), waiting);
}

TEST(CompileQueue, Places_AreHeldAtATime) {
  CompileQueue queue(2);
  const std::vector<Id> ids = {queue.Enter("a", ""), queue.Enter("a", ""), queue.Enter("a", "")};
  EXPECT_TRUE(queue.HasPlace(ids[0]) && queue.HasPlace(ids[1]));
  EXPECT_FALSE(queue.HasPlace(ids[2]));
  queue.Leave(ids[1]);
  EXPECT_TRUE(queue.HasPlace(ids[2]));
  EXPECT_FALSE(queue.HasPlace(ids[1]));
}

// Whenever it comes, and however many workers there are.
TEST(CompileQueue, ASingleOfAnotherNamespace_WaitsForWhatRunsAlone) {
  for (const std::size_t places : {1U, 2U, 5U}) {
    for (const std::size_t served : {0U, 1U, 2U, 7U, 100U}) {
      CompileQueue queue(static_cast<int>(places));
      std::vector<Id> flood;
      for (int i = 0; i < 1000; ++i) flood.push_back(queue.Enter("flood", "job"));
      for (std::size_t i = 0; i < served; ++i) queue.Leave(flood[i]);
      const Id single = queue.Enter("other", "");
      EXPECT_FALSE(queue.HasPlace(single));
      queue.Leave(flood[served]);  // The next that ends.
      EXPECT_TRUE(queue.HasPlace(single)) << places << " places, " << served << " served";
    }
  }
}

TEST(CompileQueue, Namespaces_TakeTurns_WhateverTheyHaveWaiting) {
  CompileQueue queue(1);
  const Id running = queue.Enter("a", "");
  std::vector<Id> a;
  std::vector<Id> b;
  for (int i = 0; i < 6; ++i) a.push_back(queue.Enter("a", ""));
  for (int i = 0; i < 3; ++i) b.push_back(queue.Enter("b", ""));
  std::vector<Id> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<Id> order = Drain(queue, running, all);
  // While both wait neither is served more than once more than the other.
  int lead = 0;
  for (std::size_t i = 0; i < 2 * b.size(); ++i) {
    lead += std::find(a.begin(), a.end(), order[i]) != a.end() ? 1 : -1;
    EXPECT_LE(std::abs(lead), 1) << "after " << i + 1;
  }
}

TEST(CompileQueue, Jobs_OfANamespace_TakeItsTurns) {
  CompileQueue queue(1);
  const Id running = queue.Enter("a", "big");
  std::vector<Id> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(queue.Enter("a", "big"));
  const Id small = queue.Enter("a", "small");
  const Id other = queue.Enter("b", "");
  waiting.push_back(small);
  waiting.push_back(other);
  const std::vector<Id> order = Drain(queue, running, waiting);
  // A namespace gains nothing by its number of jobs.
  EXPECT_EQ(order[0], other);
  EXPECT_EQ(order[1], small);
}

TEST(CompileQueue, AStreamOfNewcomers_KeepsNobodyWaiting) {
  CompileQueue queue(1);
  Id running = queue.Enter("old", "");
  std::vector<Id> old;
  for (int i = 0; i < 20; ++i) old.push_back(queue.Enter("old", ""));
  std::vector<Id> waiting = old;
  // As many come as are served, so that more and more wait, and old has its turn ever less often.
  for (int i = 0; i < 400; ++i) {
    waiting.push_back(queue.Enter("new" + std::to_string(i), ""));
    queue.Leave(running);
    running = Placed(queue, waiting);
    std::erase(waiting, running);
  }
  const auto served = static_cast<std::size_t>(std::count_if(old.begin(), old.end(), [&](Id id) {
    return std::find(waiting.begin(), waiting.end(), id) == waiting.end();
  }));
  EXPECT_EQ(served, old.size());
}

TEST(CompileQueue, WhoGivesUp_IsNotServed) {
  CompileQueue queue(1);
  const Id running = queue.Enter("a", "");
  const Id gone = queue.Enter("b", "");
  const Id next = queue.Enter("c", "");
  queue.Leave(gone);
  queue.Leave(running);
  EXPECT_FALSE(queue.HasPlace(gone));
  EXPECT_TRUE(queue.HasPlace(next));
}

}  // namespace
}  // namespace stoker
