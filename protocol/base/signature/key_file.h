// Files that hold an Ed25519 key: PEM, as `openssl genpkey -algorithm ed25519` writes them. Root or
// this process's user owns them, nobody else may write to them, and nobody else may read them, but
// for the group of a file of root's.
#pragma once

#include <string>

#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

// A file that somebody named, and may have named by a link. FailedPrecondition: it cannot be read,
// or it is not as above; InvalidArgument: it holds no such key.
Result<SigningKey> ReadSigningKey(const std::string& path);

// A file of our own, made with its folders where it is not there. Processes that come at once end
// with one key. Links are not followed. Unavailable: it is not there and cannot be made.
Result<SigningKey> ReadOrMakeSigningKey(const std::string& path);

// A new file, mode 0600, written before it has its name. FailedPrecondition: there is one.
Status WriteSigningKey(const std::string& path, const SigningKey& key);

// A folder for such files, and those above it: what is made is for its user alone. Unavailable:
// it cannot be made.
Status MakePrivateFolder(const std::string& path);

}  // namespace stoker
