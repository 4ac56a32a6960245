// Lexer of the text form of a graph. Private to protocol/graph.
#pragma once

#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

// A cursor over the text. Blanks, line ends and comments ('#' to the end of the line) separate
// tokens. Take functions return false, Expect functions an error, when something else stands there.
class GraphLexer {
 public:
  explicit GraphLexer(std::string_view text) : text_(text) { SkipBlanks(); }

  bool AtEnd() const { return position_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }

  bool Take(char c);
  Status Expect(char c);
  // Letters, digits, '_' and '.'; empty when there are none.
  std::string_view Word();
  // Everything that can belong to a number or a dim expression: up to a blank, or a ',' or closing
  // bracket outside parentheses.
  std::string_view Scalar();
  // A dtype and its bracketed dims, as one piece of text.
  std::string_view Type();
  // Up to the first `end`, which is consumed and not part of the result.
  Result<std::string_view> Until(char end);
  // A quoted string: "..." with \", \\ and \xHH.
  Result<std::string> Quoted();

  // "Line 3 needs <expected>, not '...'."
  Error Unexpected(std::string_view expected) const;
  int line() const { return LineOf(token_end_); }  // Of the last token. Counts lines: for errors.

 private:
  void SkipBlanks();
  // The text from here to `end`, which becomes the position.
  std::string_view Advance(std::size_t end);
  int LineOf(std::size_t position) const;

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t token_end_ = 0;
};

}  // namespace stoker
