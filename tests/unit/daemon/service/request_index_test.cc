#include "daemon/service/store/request_index.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

KeyField Field(const std::string& tag, const std::string& value) {
  return {tag, value, Sha256Of(value)};
}

std::vector<KeyField> Fields(const std::string& target, const std::string& graph) {
  return {Field("target", target), Field("graph", graph)};
}

IndexedRequest Request(const std::string& target, const std::string& graph) {
  return {Sha256Of(target + "/" + graph), Sha256Of("artifact"), Fields(target, graph)};
}

class RequestIndexTest : public testing::Test {
 protected:
  std::optional<RequestIndex::Nearest> Find(const std::string& name_space,
                                            const std::vector<KeyField>& fields) {
    return index_.FindNearest(name_space, fields, [this] {
      ++loads_;
      return stored_;
    });
  }

  std::vector<IndexedRequest> stored_;
  int loads_ = 0;
  RequestIndex index_;
};

TEST_F(RequestIndexTest, FindNearest_IsTheOneWithTheFewestDifferences) {
  stored_ = {Request("v3", "a"), Request("v4", "b"), Request("v5", "b")};
  const auto nearest = Find("n", Fields("v4", "a"));
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->request_key, stored_[0].request_key);
  EXPECT_EQ(nearest->tag, "target");
  EXPECT_EQ(nearest->value, "v3");
  EXPECT_EQ(nearest->field, 0U);
  // Itself is no explanation.
  EXPECT_EQ(Find("n", Fields("v4", "b"))->value, "v5");
  EXPECT_EQ(Find("n", {Field("foreign", "x")})->tag, "");
}

// However many miss: the cache is read once.
TEST_F(RequestIndexTest, FindNearest_ManyTimes_LoadsOnce) {
  stored_ = {Request("v3", "a")};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(Find("n", Fields("v4", std::to_string(i))));
    index_.Add("n", Request("v4", std::to_string(i)));
  }
  EXPECT_EQ(loads_, 1);
  stored_.clear();
  EXPECT_FALSE(Find("other", Fields("v4", "a")));
  EXPECT_FALSE(Find("other", Fields("v4", "a")));
  EXPECT_EQ(loads_, 2);
}

TEST_F(RequestIndexTest, Add_IsFound_Remove_IsNot) {
  EXPECT_FALSE(Find("n", Fields("v4", "a")));
  index_.Add("n", Request("v3", "a"));
  ASSERT_TRUE(Find("n", Fields("v4", "a")));
  index_.Remove("n", Request("v3", "a").request_key);
  EXPECT_FALSE(Find("n", Fields("v4", "a")));
}

TEST_F(RequestIndexTest, FindNearest_WhileItLoads_WaitsForNobody) {
  stored_ = {Request("v3", "a")};
  std::optional<RequestIndex::Nearest> meanwhile;
  const auto nearest = index_.FindNearest("n", Fields("v4", "a"), [&] {
    meanwhile = Find("n", Fields("v4", "a"));
    index_.Add("n", Request("v5", "a"));
    return stored_;
  });
  EXPECT_FALSE(meanwhile);
  EXPECT_EQ(loads_, 0);
  EXPECT_EQ(nearest->value, "v3");
  index_.Remove("n", stored_[0].request_key);
  EXPECT_EQ(Find("n", Fields("v4", "a"))->value, "v5");
}

TEST_F(RequestIndexTest, Limits_TheOldestRequestsAndNamespacesGo) {
  EXPECT_FALSE(Find("n", Fields("v4", "a")));
  index_.Add("n", Request("v3", "first"));
  for (std::size_t i = 0; i < RequestIndex::kMaxRequests; ++i) {
    index_.Add("n", Request("v5", std::to_string(i)));
  }
  EXPECT_EQ(Find("n", Fields("v4", "first"))->value, "v5");
  for (std::size_t i = 0; i < RequestIndex::kMaxNamespaces; ++i) {
    Find("other" + std::to_string(i), Fields("v4", "a"));
  }
  const int loads = loads_;
  Find("n", Fields("v4", "a"));
  EXPECT_EQ(loads_, loads + 1);
}

TEST_F(RequestIndexTest, Add_LongText_IsCut) {
  EXPECT_FALSE(Find("n", Fields("v4", "a")));
  index_.Add("n", Request(std::string(2 * RequestIndex::kMaxShownBytes, 'x'), "a"));
  EXPECT_EQ(Find("n", Fields("v4", "a"))->value,
            std::string(RequestIndex::kMaxShownBytes, 'x') + "...");
}

}  // namespace
}  // namespace stoker
