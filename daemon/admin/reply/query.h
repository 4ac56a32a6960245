// Query: what follows '?' in a URL, "name=value&name=value".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

class Query {
 public:
  // InvalidArgument: a part without '=', a name that is none of `names` or comes twice, or an
  // escape: no value that is asked for here needs one.
  static Result<Query> Parse(std::string_view text, std::initializer_list<std::string_view> names);

  bool Has(std::string_view name) const { return values_.contains(name); }
  // Empty where it is not there.
  std::string Text(std::string_view name) const;
  // InvalidArgument: it is not there, or no whole number from `min` to `max`.
  Result<std::int64_t> Number(std::string_view name, std::int64_t min, std::int64_t max) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace stoker
