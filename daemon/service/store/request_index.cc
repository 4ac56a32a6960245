#include "daemon/service/store/request_index.h"

#include <algorithm>
#include <utility>

#include "protocol/wire/proto/utf8.h"

namespace stoker {
std::optional<RequestIndex::Nearest> RequestIndex::FindNearest(const std::string& name_space,
                                                               const std::vector<KeyField>& fields,
                                                               const Load& load) {
  std::unique_lock lock(mutex_);
  if (!namespaces_.contains(name_space)) {
    MakeLocked(name_space);
    lock.unlock();
    std::vector<IndexedRequest> stored = load();
    lock.lock();
    Namespace& known = MakeLocked(name_space);
    // What was stored meanwhile is later.
    std::deque<IndexedRequest> meanwhile = std::exchange(known.requests, {});
    for (IndexedRequest& request : stored) Append(known, std::move(request));
    for (IndexedRequest& request : meanwhile) Append(known, std::move(request));
  }
  Namespace& known = MakeLocked(name_space);
  std::size_t fewest = fields.size() + 1;
  std::optional<Nearest> nearest;
  for (const IndexedRequest& request : known.requests) {
    const std::vector<const KeyField*> differences = DifferencesOf(request.fields, fields);
    if (differences.empty() || differences.size() >= fewest) continue;
    fewest = differences.size();
    const KeyField* first = differences.front();
    nearest = Nearest{request.request_key, request.artifact, "", "",
                      static_cast<std::size_t>(first - fields.data())};
    if (const KeyField* theirs = FindField(request.fields, first->tag)) {
      nearest->tag = theirs->tag;
      nearest->value = theirs->text;
    }
  }
  return nearest;
}

void RequestIndex::Add(const std::string& name_space, IndexedRequest request) {
  const std::lock_guard lock(mutex_);
  const auto it = namespaces_.find(name_space);
  if (it != namespaces_.end()) Append(it->second, std::move(request));
}

void RequestIndex::Remove(const std::string& name_space, const Digest& request_key) {
  const std::lock_guard lock(mutex_);
  const auto it = namespaces_.find(name_space);
  if (it == namespaces_.end()) return;
  std::erase_if(it->second.requests,
                [&](const IndexedRequest& request) { return request.request_key == request_key; });
}

void RequestIndex::Append(Namespace& known, IndexedRequest request) {
  std::erase_if(known.requests, [&](const IndexedRequest& other) {
    return other.request_key == request.request_key;
  });
  if (known.requests.size() >= kMaxRequests) known.requests.pop_front();
  for (KeyField& field : request.fields) {
    if (field.text.size() <= kMaxShownBytes) continue;
    field.text = wire::ToValidUtf8(field.text.substr(0, kMaxShownBytes)) + "...";
  }
  known.requests.push_back(std::move(request));
}

RequestIndex::Namespace& RequestIndex::MakeLocked(const std::string& name_space) {
  if (!namespaces_.contains(name_space) && namespaces_.size() >= kMaxNamespaces) {
    namespaces_.erase(std::min_element(
        namespaces_.begin(), namespaces_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Namespace& known = namespaces_[name_space];
  known.used = ++uses_;
  return known;
}

}  // namespace stoker
