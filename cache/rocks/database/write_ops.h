// WriteOps: changes that a Database makes all or none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker {

// The column families of FORMAT.md.
enum class Family { kBlobs, kAccess, kActions, kCounters, kQuarantine, kDefault };
inline constexpr std::size_t kFamilyCount = 6;

class WriteOps {
 public:
  struct Op {
    Family family;
    std::string key;
    bool is_delete;
    std::string value;          // Owned, or
    std::string_view borrowed;  // not.
    std::string_view bytes() const { return value.empty() ? borrowed : std::string_view(value); }
  };

  void Put(Family family, std::string_view key, std::string value) {
    ops_.push_back({family, std::string(key), false, std::move(value), {}});
  }
  // `value` must live until the ops were written: for large values.
  void PutBorrowed(Family family, std::string_view key, std::string_view value) {
    ops_.push_back({family, std::string(key), false, {}, value});
  }
  void Delete(Family family, std::string_view key) {
    ops_.push_back({family, std::string(key), true, {}, {}});
  }

  bool empty() const { return ops_.empty(); }
  const std::vector<Op>& ops() const { return ops_; }

 private:
  std::vector<Op> ops_;
};

}  // namespace stoker
