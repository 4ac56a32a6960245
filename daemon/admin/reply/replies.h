// Replies that several routes give: errors in the form of the wire, and bodies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/access/grant.h"
#include "daemon/net/http/http.h"
#include "protocol/base/result.h"

namespace stoker {

// The table of WIRE.md.
net::HttpReply ReplyOf(const Error& error);
net::HttpReply ReplyOf(std::string body);
// Of text that is JSON.
net::HttpReply JsonReply(std::string text);
net::HttpReply NoContent();
// Of a write into the cache: where there is no room for it, 507.
net::HttpReply StorageReplyOf(const Error& error);
// 401 for a client that has shown nothing, and for a credential that is none; else 403.
net::HttpReply AccessReplyOf(const Error& error, bool is_known);

// Why the sender may not do that in this namespace, if so.
std::optional<net::HttpReply> RefusalOf(const Grant& grant, Scope scope,
                                        std::string_view name_space);

}  // namespace stoker
