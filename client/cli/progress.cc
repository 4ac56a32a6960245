#include "client/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "client/cli/format.h"

namespace stoker::cli {
namespace {

constexpr std::size_t kBarColumns = 24;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::FILE* out) : out_(out), is_terminal_(isatty(fileno(out)) != 0) {}

Progress::~Progress() { Clear(); }

void Progress::Clear() {
  if (!is_terminal_) return;
  std::fputs(kClearLine, out_);
  std::fflush(out_);
}

void Progress::Show(std::size_t done, std::size_t total, const std::string& counts) {
  if (!is_terminal_ || total == 0) return;
  const std::size_t filled = kBarColumns * done / total;
  std::string rest;
  if (done > 0 && done < total) {
    const double left_s =
        elapsed_s() / static_cast<double>(done) * static_cast<double>(total - done);
    rest = ", about " + FormatSeconds(left_s) + " left";
  }
  fmt::print(out_, "{}[{}{}] {}/{}  {}{}", kClearLine, std::string(filled, '='),
             std::string(kBarColumns - filled, ' '), done, total, counts, rest);
  std::fflush(out_);
}

void Progress::Say(const std::string& line) {
  Clear();
  fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace stoker::cli
