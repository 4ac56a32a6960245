// ProgressBar: how far long work is, on standard error: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace stoker::cli {

class ProgressBar {
 public:
  enum class Style { kBar, kLines, kNone };

  // A bar if standard error is a terminal; nothing at all if `is_quiet`.
  explicit ProgressBar(bool is_quiet);
  explicit ProgressBar(Style style) : style_(style) {}
  // Wipes the bar.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Not concurrently, nor is what follows. `total` is 0 where it is not known.
  void Show(const std::string& stage, std::uint64_t done, std::uint64_t total,
            double elapsed_seconds);
  // The same where steps have outcomes: `counts` says what became of them so far. Lines are left to
  // Say.
  void ShowCounts(std::uint64_t done, std::uint64_t total, const std::string& counts);
  // A line that stays, above the bar.
  void Say(const std::string& line);

  double elapsed_s() const;
  // A stoker_progress_fn; `self` is a ProgressBar.
  static void Callback(void* self, const char* stage, std::uint32_t done, std::uint32_t total,
                       const char* detail, double elapsed_seconds);

 private:
  void Wipe();

  const Style style_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_drawn_ = false;
  std::string stage_;           // Of the last line.
  double next_line_after_ = 0;  // Elapsed seconds.
};

// "[#####.....]  50 %  3 of 6"; without a total "3".
std::string BarText(std::uint64_t done, std::uint64_t total);

}  // namespace stoker::cli
