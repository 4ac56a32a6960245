#include "daemon/net/http/reply_text.h"

#include <algorithm>
#include <atomic>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <random>

#include "protocol/wire/header/upload_fields.h"
#include "protocol/wire/messages.h"

namespace stoker::net {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kMaxRequestIdBytes = 64;

void Append(std::string* text, std::string_view name, std::string_view value) {
  text->append(name).append(": ").append(value).append("\r\n");
}

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct ByteRange {
  std::uint64_t first;
  std::uint64_t last;  // Inclusive, and maybe beyond the end.
};

// "bytes=FIRST-LAST", "bytes=FIRST-" and "bytes=-LENGTH" of something of `size` bytes. Nothing for
// any other text; one that begins at or beyond `size` is not satisfiable.
std::optional<ByteRange> ParseRange(std::string_view text, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = NumberOf(text.substr(0, dash));
  const auto last = NumberOf(text.substr(dash + 1));
  if (dash == 0) {
    if (!last) return std::nullopt;
    return ByteRange{*last == 0 ? size : size - std::min(*last, size), size};
  }
  if (!first || (dash + 1 < text.size() && !last) || (last && *last < *first)) return std::nullopt;
  return ByteRange{*first, last.value_or(size)};
}

}  // namespace

HttpReply ErrorReplyFor(int status, const Error& error, int retry_after_s) {
  HttpReply reply;
  reply.status = status;
  reply.body = wire::EncodeErrorReply(wire::ErrorReplyOf(error));
  reply.retry_after_s = retry_after_s;
  return reply;
}

std::string HeaderText(const HttpReply& reply, const HeaderOptions& options) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(reply.status));
  std::string text;
  text.reserve(256);
  text.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ");
  text.append(reason.data(), reason.size()).append("\r\nServer: stokerd\r\n");
  Append(&text, "Content-Type", reply.content_type);
  if (!options.request_id.empty()) Append(&text, "X-Request-Id", options.request_id);
  if (reply.accepts_ranges) Append(&text, "Accept-Ranges", "bytes");
  if (reply.retry_after_s > 0) Append(&text, "Retry-After", std::to_string(reply.retry_after_s));
  for (const auto& [name, value] : reply.headers) Append(&text, name, value);
  if (options.is_chunked) {
    Append(&text, "Transfer-Encoding", "chunked");
  } else if (reply.status != 204) {
    Append(&text, "Content-Length", std::to_string(reply.body.bytes().size()));
  }
  if (options.ends_upload) Append(&text, wire::kUploadComplete, "?1");
  if (!options.keep_alive) Append(&text, "Connection", "close");
  if (options.keep_alive && options.is_http_1_0) Append(&text, "Connection", "keep-alive");
  text.append("\r\n");
  return text;
}

HttpReply PartOf(HttpReply reply, std::string_view range) {
  const std::uint64_t size = reply.body.bytes().size();
  const auto wanted = ParseRange(range, size);
  if (!wanted) return reply;
  if (wanted->first >= size) {
    HttpReply refusal =
        ErrorReplyFor(416, InvalidArgument("Header 'Range' is '" + std::string(range) + "', of " +
                                           std::to_string(size) + " bytes."));
    refusal.headers = {{"Content-Range", "bytes */" + std::to_string(size)}};
    return refusal;
  }
  const std::uint64_t last = std::min(wanted->last, size - 1);
  reply.status = 206;
  reply.headers.emplace_back("Content-Range", "bytes " + std::to_string(wanted->first) + "-" +
                                                  std::to_string(last) + "/" +
                                                  std::to_string(size));
  reply.body = std::move(reply.body).Part(wanted->first, last - wanted->first + 1);
  return reply;
}

bool IsRequestId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string MakeRequestId() {
  static const std::uint64_t start = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32) | random();
  }();
  static std::atomic<std::uint64_t> count{0};
  // An odd factor: ids of one process do not repeat, nor do they look alike.
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  std::uint64_t value = start + kFactor * count.fetch_add(1, std::memory_order_relaxed);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id(16, '0');
  for (char& digit : id) {
    digit = kDigits[value >> 60];
    value <<= 4;
  }
  return id;
}

}  // namespace stoker::net
