#include "protocol/graph/attribute.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Attributes, Set_AnyOrder_ComparesEqual) {
  const Attributes a = {{AttrName::kKind, std::string("add")},
                        {AttrName::kDims, std::vector<std::int64_t>{0, 2}}};
  Attributes b;
  b.Set(AttrName::kDims, std::vector<std::int64_t>{1});
  b.Set(AttrName::kKind, std::string("add"));
  EXPECT_NE(a, b);
  b.Set(AttrName::kDims, std::vector<std::int64_t>{0, 2});
  EXPECT_EQ(a, b);
  EXPECT_EQ(b.entries().size(), 2U);
  EXPECT_EQ(b.String(AttrName::kKind), "add");
  EXPECT_EQ(b.Find(AttrName::kScale), nullptr);
}

TEST(AttrName, NameAndCode_EveryName_RoundTrip) {
  std::uint16_t code = 0;
  for (; AttrNameFromCode(code); ++code) {
    const AttrName name = *AttrNameFromCode(code);
    EXPECT_EQ(ParseAttrName(Name(name)), name);
  }
  EXPECT_EQ(code, static_cast<int>(AttrName::kMessage) + 1);
  EXPECT_FALSE(ParseAttrName("axis").has_value());
  EXPECT_EQ(TypeOf(AttrName::kStart), AttrType::kDims);
  EXPECT_EQ(TypeOf(AttrName::kScale), AttrType::kFloat);
}

// Codes are part of the encoded format.
TEST(AttrName, Codes_OfShippedNames_DoNotMove) {
  EXPECT_EQ(static_cast<int>(AttrName::kDim), 0);
  EXPECT_EQ(static_cast<int>(AttrName::kStrides), 14);
  EXPECT_EQ(static_cast<int>(AttrName::kSliceSizes), 25);
  EXPECT_EQ(static_cast<int>(AttrName::kExclusive), 36);
  EXPECT_EQ(static_cast<int>(AttrName::kAlgorithm), 37);
  EXPECT_EQ(static_cast<int>(AttrName::kScanned), 41);
}

}  // namespace
}  // namespace stoker
