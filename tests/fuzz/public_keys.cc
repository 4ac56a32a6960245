// Lists of public keys: what is read prints as a list of the same.
#include "protocol/base/check.h"
#include "protocol/base/signature/public_key_list.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {

std::vector<std::string> Seeds() {
  const std::string one = PublicKey().ToString();
  const std::string other = "ed25519:" + std::string(64, 'b');
  return {one, one + "," + other, "# ours\n" + one + " # the old one\r\n\n" + other + "\n"};
}

void TryInput(std::string_view bytes) {
  const auto keys = ParsePublicKeys(bytes);
  if (!keys.ok()) return;
  STOKER_CHECK(keys->size() <= kMaxListedKeys);
  if (keys->empty()) return;
  const auto again = ParsePublicKeys(ListOf(*keys));
  STOKER_CHECK(again.ok());
  STOKER_CHECK(*again == *keys);
}

}  // namespace stoker::fuzz
