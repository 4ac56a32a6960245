#include "protocol/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace stoker {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument(std::to_string(n) + " is odd.");
  return n / 2;
}

Result<int> Quarter(int n) {
  STOKER_TRY(const int half, Half(n));
  STOKER_TRY(const int quarter, Half(half));
  return quarter;
}

Status ExpectEven(int n, bool* went_on) {
  STOKER_RETURN_IF_ERROR(Half(n));
  *went_on = true;
  return Ok();
}

TEST(Result, Value_Holds_IsRead) {
  const Result<int> result = Half(8);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 4);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, Error_Holds_IsRead) {
  const Result<int> result = Half(7);
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "7 is odd.");
}

TEST(Result, Value_MoveOnly_MovesOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  EXPECT_EQ(**result, 5);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, Error_AsValueType_StaysApartFromErrors) {
  const Result<std::string> text = std::string("7 is odd.");
  EXPECT_TRUE(text.ok());
}

TEST(ResultDeathTest, Value_OfError_Aborts) {
  const Result<int> result = Half(7);
  EXPECT_DEATH((void)result.value(), "invariant does not hold: ok\\(\\)");
}

TEST(ResultDeathTest, Error_OfValue_Aborts) {
  const Result<int> result = Half(8);
  EXPECT_DEATH((void)result.error(), "invariant does not hold: !ok\\(\\)");
  EXPECT_DEATH((void)Ok().error(), "invariant does not hold: !ok\\(\\)");
}

TEST(Result, Try_EachStep_ReturnsFirstError) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).error().message, "3 is odd.");
  EXPECT_EQ(Quarter(5).error().message, "5 is odd.");
}

TEST(Result, ReturnIfError_Error_ReturnsIt) {
  bool went_on = false;
  EXPECT_EQ(ExpectEven(3, &went_on).error().message, "3 is odd.");
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(ExpectEven(4, &went_on).ok());
  EXPECT_TRUE(went_on);
}

TEST(Error, WithContext_AnyError_KeepsCodeAndPrefixesMessage) {
  const Error error = DataLoss("Digest differs.").WithContext("Blob 12").WithContext("Artifact 3");
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_EQ(error.message, "Artifact 3: Blob 12: Digest differs.");
}

TEST(Error, Constructors_EachCode_NamedApart) {
  const Error errors[] = {InvalidArgument("m"),   NotFound("m"),           Unimplemented("m"),
                          ResourceExhausted("m"), Unavailable("m"),        DeadlineExceeded("m"),
                          DataLoss("m"),          FailedPrecondition("m"), Internal("m")};
  std::set<std::string_view> names;
  for (const Error& error : errors) {
    EXPECT_EQ(error.message, "m");
    names.insert(ErrorCodeName(error.code));
  }
  EXPECT_EQ(names.size(), std::size(errors));
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(ErrorCodeName(InvalidArgument("").code), "invalid argument");
  EXPECT_EQ(ErrorCodeName(Internal("").code), "internal");
}

}  // namespace
}  // namespace stoker
