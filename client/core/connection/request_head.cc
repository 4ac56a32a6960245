#include "client/core/connection/request_head.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <random>

#include "protocol/wire/header/job_name.h"
#include "protocol/wire/header/upload_fields.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

std::string Field(std::string_view name, std::string_view value) {
  std::string line(name);
  return line.append(": ").append(value).append("\r\n");
}

}  // namespace

bool IsLong(std::string_view body) { return body.size() > wire::kLongBodyBytes; }

bool IsPath(std::string_view text) {
  return text.starts_with('/') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

std::string MakeRequestId() {
  static const unsigned start = std::random_device()();
  static std::atomic<std::uint64_t> count{0};
  std::array<char, 64> id;
  const int size =
      std::snprintf(id.data(), id.size(), "%08x-%d-%llu", start, static_cast<int>(getpid()),
                    static_cast<unsigned long long>(count.fetch_add(1) + 1));
  return {id.data(), static_cast<std::size_t>(size)};
}

Result<std::string> HeadOf(const Asked& asked, const Sender& sender, const std::string& id) {
  if (!IsPath(asked.path)) {
    return InvalidArgument("'" + std::string(asked.path) + "' is no path of a URL.");
  }
  std::string head;
  head.append(asked.method).append(" ").append(asked.path).append(" HTTP/1.1\r\n");
  head.append(Field("Host", sender.host)).append(Field("Content-Type", asked.content_type));
  head.append(Field("X-Request-Id", id)).append(Field(wire::kJobHeader, sender.job));
  if (!sender.authorization.empty()) head.append(Field("Authorization", sender.authorization));
  if (asked.offset > 0) {
    head.append(Field("Range", "bytes=" + std::to_string(asked.offset) + "-"));
  }
  if (asked.method != "GET" || !asked.body.empty()) {
    head.append(Field("Content-Length", std::to_string(asked.body.size())));
  }
  if (IsLong(asked.body)) head.append(Field("Expect", "100-continue"));
  return head.append(asked.fields).append("\r\n");
}

std::string UploadVersionField() {
  return Field(wire::kUploadVersion, std::to_string(wire::kSpokenUploadVersion));
}

std::string UploadFields() { return UploadVersionField() + Field(wire::kUploadComplete, "?1"); }

std::string UploadFields(std::size_t offset) {
  return UploadFields() + Field(wire::kUploadOffset, std::to_string(offset));
}

}  // namespace stoker
