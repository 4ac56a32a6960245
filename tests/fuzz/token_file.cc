// Token files: what parses is within the limits that it promises.
#include "daemon/access/token_file.h"

#include "protocol/base/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {

std::vector<std::string> Seeds() {
  const std::string digest = Sha256Of("a token").ToHex();
  const std::string other = Sha256Of("another one").ToHex();
  return {
      "", "[[certificate]]\nsubject = \"ci.example\"\nscopes = [\"read\"]\n",
      "[[token]]\nname = \"ci\"\nsha256 = \"" + digest + "\"\nscopes = [\"read\", \"write\"]\n",
      "# Two.\n[[token]]\nname = \"a\"\nsha256 = \"" + digest +
          "\"\nscopes = [\"admin\"]\nnamespaces = [\"team-a\", \"b\"]\n\n[[token]]\nname = 'b'\n"
          "sha256 = \"" +
          other + "\"\nscopes = [\"none\"]\n",
      "token = [{name = \"x\", sha256 = \"" + digest + "\", scopes = [\"read\"]}]"};
}

void TryInput(std::string_view bytes) {
  const auto credentials = ParseCredentials(bytes);
  if (!credentials.ok()) {
    STOKER_CHECK(!credentials.error().message.empty());
    return;
  }
  const std::vector<Token>& tokens = credentials->tokens;
  STOKER_CHECK(tokens.size() <= kMaxTokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) STOKER_CHECK(tokens[i].sha256 != tokens[j].sha256);
  }
}

}  // namespace stoker::fuzz
