// Numbers in what a daemon answers, which may be of another version.
#pragma once

#include <boost/json.hpp>
#include <initializer_list>
#include <string_view>

namespace stoker::cli {

// The number at a path of keys, 0 where the daemon does not count it.
inline double Number(const boost::json::value& root, std::initializer_list<std::string_view> path) {
  const boost::json::value* at = &root;
  for (std::string_view key : path) {
    const boost::json::object* object = at->if_object();
    if (object == nullptr) return 0;
    at = object->if_contains({key.data(), key.size()});
    if (at == nullptr) return 0;
  }
  return at->is_number() ? at->to_number<double>() : 0;
}

}  // namespace stoker::cli
