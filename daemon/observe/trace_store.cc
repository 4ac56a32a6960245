#include "daemon/observe/trace_store.h"

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

std::size_t BytesOf(const std::vector<wire::Span>& spans) {
  std::size_t bytes = 0;
  for (const wire::Span& span : spans) {
    bytes += sizeof span + span.name.size() + span.detail.size();
  }
  return bytes;
}

}  // namespace

std::size_t CompileTrace::bytes() const {
  return sizeof *this + name_space.size() + model.size() + job.size() + request_id.size() +
         BytesOf(daemon) + BytesOf(worker);
}

void TraceStore::Keep(CompileTrace trace) {
  auto kept = std::make_shared<const CompileTrace>(std::move(trace));
  const std::lock_guard lock(mutex_);
  std::erase_if(traces_, [&](const auto& other) {
    const bool is_same = other->key == kept->key && other->name_space == kept->name_space;
    if (is_same) bytes_ -= other->bytes();
    return is_same;
  });
  bytes_ += kept->bytes();
  traces_.push_front(std::move(kept));
  while (traces_.size() > kMaxTraces || bytes_ > kMaxBytes) {
    bytes_ -= traces_.back()->bytes();
    traces_.pop_back();
  }
}

std::vector<std::shared_ptr<const CompileTrace>> TraceStore::Find(std::string_view prefix,
                                                                  std::string_view name_space,
                                                                  const Visible& visible) const {
  std::vector<std::shared_ptr<const CompileTrace>> found;
  const std::lock_guard lock(mutex_);
  for (const auto& trace : traces_) {
    if (!name_space.empty() && trace->name_space != name_space) continue;
    if (visible(trace->name_space) && trace->key.ToHex().starts_with(prefix)) {
      found.push_back(trace);
    }
  }
  return found;
}

std::shared_ptr<const CompileTrace> TraceStore::Latest(std::string_view name_space,
                                                       const Visible& visible) const {
  const auto found = Find("", name_space, visible);
  return found.empty() ? nullptr : found.front();
}

std::vector<wire::Span> MovedInto(std::vector<wire::Span> spans, std::uint64_t begin_us,
                                  std::uint64_t end_us) {
  const std::uint64_t length = end_us - std::min(begin_us, end_us);
  for (wire::Span& span : spans) {
    span.start_us = std::min(span.start_us, length);
    span.duration_us = std::min(span.duration_us, length - span.start_us);
    span.start_us += begin_us;
  }
  return spans;
}

}  // namespace stoker
