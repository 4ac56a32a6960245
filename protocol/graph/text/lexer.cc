#include "protocol/graph/text/lexer.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace stoker {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

}  // namespace

void GraphLexer::SkipBlanks() {
  while (position_ < text_.size()) {
    if (text_[position_] == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (IsBlank(text_[position_])) {
      ++position_;
    } else {
      return;
    }
  }
}

std::string_view GraphLexer::Advance(std::size_t end) {
  const std::string_view token = text_.substr(position_, end - position_);
  position_ = end;
  token_end_ = end;
  SkipBlanks();
  return token;
}

bool GraphLexer::Take(char c) {
  if (AtEnd() || text_[position_] != c) return false;
  Advance(position_ + 1);
  return true;
}

Status GraphLexer::Expect(char c) {
  if (Take(c)) return Ok();
  return Unexpected(std::string{'\'', c, '\''});
}

std::string_view GraphLexer::Word() {
  std::size_t end = position_;
  while (end < text_.size() && IsWordChar(text_[end])) ++end;
  return Advance(end);
}

std::string_view GraphLexer::Scalar() {
  int depth = 0;
  std::size_t end = position_;
  for (; end < text_.size() && !IsBlank(text_[end]); ++end) {
    const char c = text_[end];
    if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}')) break;
    depth += (c == '(') - (c == ')');
  }
  return Advance(end);
}

std::string_view GraphLexer::Type() {
  std::size_t end = position_;
  while (end < text_.size() && IsWordChar(text_[end])) ++end;
  if (end < text_.size() && text_[end] == '[') {
    end = std::min(text_.find_first_of("]\n", end), text_.size());
    if (end < text_.size() && text_[end] == ']') ++end;
  }
  return Advance(end);
}

Result<std::string_view> GraphLexer::Until(char end) {
  const std::size_t found = text_.find(end, position_);
  if (found == std::string_view::npos) return Unexpected(std::string("a later '") + end + "'");
  const std::string_view piece = text_.substr(position_, found - position_);
  Advance(found + 1);
  return piece;
}

Result<std::string> GraphLexer::Quoted() {
  if (Peek() != '"') return Unexpected("a quoted string");
  std::string out;
  for (std::size_t i = position_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '"') {
      Advance(i + 1);
      return out;
    }
    if (text_[i] != '\\') {
      out += text_[i];
      continue;
    }
    if (++i == text_.size()) break;
    if (text_[i] == '"' || text_[i] == '\\') {
      out += text_[i];
      continue;
    }
    const char* digits = text_.data() + i + 1;
    unsigned char byte = 0;
    if (text_[i] != 'x' || text_.size() - i < 3 ||
        std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
      return Unexpected("a string with the escapes \\\", \\\\ and \\xHH");
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return Unexpected("a string that ends");
}

int GraphLexer::LineOf(std::size_t position) const {
  return 1 + static_cast<int>(std::count(
                 text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

Error GraphLexer::Unexpected(std::string_view expected) const {
  std::string message =
      "Line " + std::to_string(LineOf(position_)) + " needs " + std::string(expected);
  if (AtEnd()) return InvalidArgument(message + " before the end.");
  const std::string_view rest = text_.substr(position_, 24);
  return InvalidArgument(message + ", not '" + std::string(rest.substr(0, rest.find('\n'))) + "'.");
}

}  // namespace stoker
