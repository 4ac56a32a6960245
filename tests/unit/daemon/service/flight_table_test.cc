#include "daemon/service/flight/flight_table.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

using namespace std::chrono_literals;

const FlightTable::Key kKey{"a", Sha256Of("key")};

Status AdmitAll() { return Ok(); }

FlightTable::Key KeyOf(std::size_t i) { return {"a", Sha256Of(std::to_string(i))}; }

TEST(Flight, AsksForGraph_OneCallerAtATime_UntilItHasBegun) {
  Flight flight;
  const Flight::Clock::time_point start{1h};
  EXPECT_TRUE(flight.AsksForGraph(start));
  EXPECT_FALSE(flight.AsksForGraph(start));
  EXPECT_EQ(flight.next_turn(), start + Flight::kGraphPatience);
  EXPECT_FALSE(flight.AsksForGraph(start + Flight::kGraphPatience - 1ms));
  EXPECT_TRUE(flight.AsksForGraph(start + Flight::kGraphPatience));  // The first one is late.
  flight.Begin();
  EXPECT_FALSE(flight.AsksForGraph(start + 1h));
  EXPECT_EQ(flight.next_turn(), Flight::Clock::time_point::max());
}

TEST(Flight, IsAbandoned_WhenWhoWaitsWouldHaveBeenAsked) {
  Flight flight;
  const Flight::Clock::time_point start{1h};
  ASSERT_TRUE(flight.AsksForGraph(start));
  EXPECT_FALSE(flight.IsAbandoned(start + Flight::kGraphPatience));
  EXPECT_TRUE(flight.IsAbandoned(start + 3 * Flight::kGraphPatience));
  flight.Begin();
  EXPECT_FALSE(flight.IsAbandoned(start + 1h));
}

TEST(FlightTable, Begin_OfAFlightThatAwaits_IsTheSameFlight) {
  FlightTable table;
  EXPECT_EQ(table.Find(kKey), nullptr);
  const auto flight = table.Join(kKey);
  EXPECT_EQ(table.Join(kKey), flight);
  EXPECT_NE(table.Join({"b", kKey.second}), flight);
  EXPECT_FALSE(flight->has_begun());
  bool first = false;
  EXPECT_EQ(table.Begin(kKey, AdmitAll, &first).value(), flight);
  EXPECT_TRUE(first);
  EXPECT_TRUE(flight->has_begun());
  EXPECT_EQ(table.Begin(kKey, AdmitAll, &first).value(), flight);
  EXPECT_FALSE(first);
  EXPECT_EQ(table.Find(kKey), flight);
  table.Remove(kKey);
  EXPECT_EQ(table.Find(kKey), nullptr);
}

TEST(FlightTable, Begin_NotAdmitted_LeavesTheFlightAwaiting) {
  FlightTable table;
  const auto flight = table.Join(kKey);
  bool first = false;
  const auto refuse = [] { return Status(Unavailable("full")); };
  EXPECT_FALSE(table.Begin(kKey, refuse, &first).ok());
  EXPECT_EQ(table.Find(kKey), flight);
  EXPECT_FALSE(flight->has_begun());
  EXPECT_FALSE(table.Begin({"b", kKey.second}, refuse, &first).ok());
  EXPECT_EQ(table.Find({"b", kKey.second}), nullptr);
}

TEST(FlightTable, Join_TooMany_AbandonedOnesMakeRoom) {
  FlightTable table;
  const auto now = Flight::Clock::now();
  for (std::size_t i = 0; i < FlightTable::kMaxAwaiting; ++i) {
    ASSERT_TRUE(table.Join(KeyOf(i))->AsksForGraph(now));
  }
  EXPECT_EQ(table.Join(KeyOf(FlightTable::kMaxAwaiting)), nullptr);
  // One that has begun is none that awaits.
  bool first = false;
  ASSERT_TRUE(table.Begin(KeyOf(0), AdmitAll, &first).ok());
  EXPECT_NE(table.Join(KeyOf(FlightTable::kMaxAwaiting)), nullptr);
}

TEST(FlightTable, Join_Abandoned_IsForgottenWhenRoomIsNeeded) {
  FlightTable table;
  const auto long_ago = Flight::Clock::now() - 1h;
  for (std::size_t i = 0; i < FlightTable::kMaxAwaiting; ++i) {
    ASSERT_TRUE(table.Join(KeyOf(i))->AsksForGraph(long_ago));
  }
  EXPECT_NE(table.Join(KeyOf(FlightTable::kMaxAwaiting)), nullptr);
  EXPECT_EQ(table.Find(KeyOf(0)), nullptr);
}

}  // namespace
}  // namespace stoker
