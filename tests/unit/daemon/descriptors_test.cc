#include "daemon/limits/descriptors.h"

#include <gmock/gmock.h>

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Descriptors, WhereThereAreMany_AllConnectionsAreTaken) {
  EXPECT_EQ(*ConnectionsWithin(1 << 20, {}), 16384U);
}

TEST(Descriptors, WhereThereAreFewer_TheRestIsForConnections) {
  const Config config;
  const std::size_t with_1024 = *ConnectionsWithin(1024, config);
  EXPECT_LT(with_1024, 512U);
  EXPECT_EQ(*ConnectionsWithin(1034, config), with_1024 + 10);
  Config larger;
  larger.workers += 8;
  larger.listen = {"unix:/a", "unix:/b"};
  EXPECT_EQ(*ConnectionsWithin(1024, larger), with_1024 - 20);
}

TEST(Descriptors, WhereThereAreTooFew_TheLimitAndTheNeedAreNamed) {
  EXPECT_THAT(ConnectionsWithin(64, {}).error().message,
              AllOf(HasSubstr("(ulimit -n) is 64; at least 6"), HasSubstr("576 by the database")));
  Config few;
  few.max_connections = 1;
  EXPECT_EQ(*ConnectionsWithin(1024, few), 1U);
}

}  // namespace
}  // namespace stoker
