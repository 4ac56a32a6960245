// Lists of public keys that are trusted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

inline constexpr std::size_t kMaxListedKeys = 64;

// Keys separated by spaces, commas or lines; from # to the end of its line is a comment. One that
// is listed twice counts once. InvalidArgument names what is no key.
Result<std::vector<PublicKey>> ParsePublicKeys(std::string_view text);

// The same out of a file, to which not everybody may write. FailedPrecondition: it cannot be read,
// or everybody may.
Result<std::vector<PublicKey>> ReadPublicKeys(const std::string& path);

// The value of a setting: keys, the first of which it begins with, or the path of a file of them.
// At least one.
Result<std::vector<PublicKey>> PublicKeysOf(const std::string& value);

// Separated by commas, as ParsePublicKeys takes them; "nobody" for none.
std::string ListOf(std::span<const PublicKey> keys);

}  // namespace stoker
