// RequestIndex: the keyed fields of some stored requests of each namespace, in memory, so that a
// miss is explained without reading the cache. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/key/compile_request.h"

namespace stoker {

struct IndexedRequest {
  Digest request_key;
  Digest artifact;
  std::vector<KeyField> fields;
};

class RequestIndex {
 public:
  static constexpr std::size_t kMaxRequests = 512;    // Of a namespace; the latest.
  static constexpr std::size_t kMaxNamespaces = 16;   // The latest used.
  static constexpr std::size_t kMaxShownBytes = 256;  // Of a field's text.

  // The stored requests of a namespace, at most kMaxRequests.
  using Load = std::function<std::vector<IndexedRequest>()>;

  struct Nearest {
    Digest request_key;
    Digest artifact;
    std::string tag;        // Of its first field that differs; empty: it has no such field.
    std::string value;      // What it has there.
    std::size_t field = 0;  // Its place in the fields that were asked about.
  };

  // Of requests that differ from these fields in something, one that differs in the fewest.
  // `load` is called the first time that the namespace is asked about; who asks meanwhile is
  // told of what is known so far.
  std::optional<Nearest> FindNearest(const std::string& name_space,
                                     const std::vector<KeyField>& fields, const Load& load);
  // A request that was stored. Namespaces that nobody asked about are loaded when somebody does.
  void Add(const std::string& name_space, IndexedRequest request);
  // One that is no longer stored.
  void Remove(const std::string& name_space, const Digest& request_key);

 private:
  struct Namespace {
    std::deque<IndexedRequest> requests;  // The latest last.
    std::uint64_t used = 0;
  };

  static void Append(Namespace& known, IndexedRequest request);
  Namespace& MakeLocked(const std::string& name_space);

  std::mutex mutex_;  // Guards what follows.
  std::map<std::string, Namespace> namespaces_;
  std::uint64_t uses_ = 0;
};

}  // namespace stoker
