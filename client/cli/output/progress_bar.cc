#include "client/cli/output/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "client/cli/output/format.h"
#include "client/cli/output/standard_streams.h"

namespace stoker::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr const char* kWipe = "\r\033[K";
// Between two lines of one stage, where there is no bar.
constexpr double kLineSeconds = 10;

}  // namespace

std::string BarText(std::uint64_t done, std::uint64_t total) {
  if (total == 0) return done == 0 ? "" : std::to_string(done);
  done = std::min(done, total);
  const auto filled =
      static_cast<std::size_t>(static_cast<double>(done) / static_cast<double>(total) * kBarWidth);
  return fmt::format("[{}{}] {:3.0f} %  {} of {}", std::string(filled, '#'),
                     std::string(kBarWidth - filled, '.'),
                     100.0 * static_cast<double>(done) / static_cast<double>(total), done, total);
}

ProgressBar::ProgressBar(bool is_quiet)
    : style_(is_quiet                     ? Style::kNone
             : isatty(STDERR_FILENO) != 0 ? Style::kBar
                                          : Style::kLines) {}

ProgressBar::~ProgressBar() { Wipe(); }

void ProgressBar::Wipe() {
  if (is_drawn_) Tell("{}", kWipe);
  is_drawn_ = false;
}

void ProgressBar::Show(const std::string& stage, std::uint64_t done, std::uint64_t total,
                       double elapsed_seconds) {
  if (style_ == Style::kNone) return;
  const bool is_new = stage != stage_;
  stage_ = stage;
  if (style_ == Style::kBar) {
    Tell("{}{:<18} {}  {}", kWipe, stage, BarText(done, total), FormatSeconds(elapsed_seconds));
    is_drawn_ = true;
    return;
  }
  if (!is_new && elapsed_seconds < next_line_after_) return;
  next_line_after_ = elapsed_seconds + kLineSeconds;
  const std::string of = total == 0 ? "" : fmt::format(" of {}", total);
  Tell("{}: {}{}\n", stage, done, of);
}

void ProgressBar::ShowCounts(std::uint64_t done, std::uint64_t total, const std::string& counts) {
  if (style_ != Style::kBar) return;
  std::string rest;
  if (done > 0 && done < total) {
    const double left_s =
        elapsed_s() / static_cast<double>(done) * static_cast<double>(total - done);
    rest = ", about " + FormatSeconds(left_s) + " left";
  }
  Tell("{}{}  {}{}", kWipe, BarText(done, total), counts, rest);
  is_drawn_ = true;
}

void ProgressBar::Say(const std::string& line) {
  if (style_ == Style::kNone) return;
  Wipe();
  Tell("{}\n", line);
}

double ProgressBar::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressBar::Callback(void* self, const char* stage, std::uint32_t done, std::uint32_t total,
                           const char* /*detail*/, double elapsed_seconds) {
  static_cast<ProgressBar*>(self)->Show(stage, done, total, elapsed_seconds);
}

}  // namespace stoker::cli
