// What a client asks over HTTP/1.1, and the header in which it does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

struct Asked {
  std::string_view method;
  std::string_view path;
  std::string_view body;
  std::size_t offset = 0;  // Content before it is not sent to the client.
  std::string_view content_type = "application/x-protobuf";
  std::string fields = {};  // Further ones, as they stand in the header.
};

// The same in all requests of a connection.
struct Sender {
  std::string host;           // To whom.
  std::string authorization;  // Empty: none.
  std::string job;
};

// Whether it waits for leave to be sent, and can go on where the connection breaks.
bool IsLong(std::string_view body);

// Whether it can stand in a request.
bool IsPath(std::string_view text);

// Of one call, by which it is found in the daemon's log. A forked process makes ids of its own.
std::string MakeRequestId();

// With the empty line at its end. InvalidArgument: the path is none.
Result<std::string> HeadOf(const Asked& asked, const Sender& sender, const std::string& id);

// Fields of the draft of which upload_fields.h tells: of each request that it defines; of one whose
// body ends what is uploaded; of one whose body begins at this byte of it.
std::string UploadVersionField();
std::string UploadFields();
std::string UploadFields(std::size_t offset);

}  // namespace stoker
