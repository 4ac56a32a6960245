// Attributes of a Node: named, typed, sorted by name so that their order never matters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/base/check.h"
#include "protocol/graph/dim/sym_dim.h"
#include "protocol/graph/region.h"

namespace stoker {

enum class AttrName : std::uint16_t {
#define STOKER_ATTR(attr, name, type) k##attr,
#include "protocol/graph/attribute.def"
#undef STOKER_ATTR
};

// Order is part of the encoded format.
enum class AttrType : std::uint8_t { kInt, kBool, kFloat, kString, kInts, kDims, kFloats, kGraph };

std::string_view Name(AttrName name);
std::optional<AttrName> ParseAttrName(std::string_view name);
std::optional<AttrName> AttrNameFromCode(std::uint16_t code);
AttrType TypeOf(AttrName name);

using AttrValue = std::variant<std::int64_t, bool, double, std::string, std::vector<std::int64_t>,
                               std::vector<SymDim>, std::vector<double>, Region>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<AttrName, AttrValue>> entries) {
    for (const auto& [name, value] : entries) Set(name, value);
  }

  void Set(AttrName name, AttrValue value);    // Replaces.
  const AttrValue* Find(AttrName name) const;  // nullptr when absent.

  // The attribute must be present with that type: the verifier guarantees it in a Graph.
  std::int64_t Int(AttrName name) const { return Get<std::int64_t>(name); }
  bool Bool(AttrName name) const { return Get<bool>(name); }
  double Float(AttrName name) const { return Get<double>(name); }
  const std::string& String(AttrName name) const { return Get<std::string>(name); }
  const std::vector<std::int64_t>& Ints(AttrName name) const {
    return Get<std::vector<std::int64_t>>(name);
  }
  const Graph& GraphOf(AttrName name) const { return Get<Region>(name).graph(); }
  const std::vector<SymDim>& Dims(AttrName name) const { return Get<std::vector<SymDim>>(name); }

  const std::vector<std::pair<AttrName, AttrValue>>& entries() const { return entries_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  template <typename T>
  const T& Get(AttrName name) const {
    const AttrValue* value = Find(name);
    STOKER_CHECK(value != nullptr && std::holds_alternative<T>(*value));
    return *std::get_if<T>(value);
  }

  std::vector<std::pair<AttrName, AttrValue>> entries_;  // Sorted by name.
};

}  // namespace stoker
