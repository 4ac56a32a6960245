// ProgressBar: how far long work is, on standard error: a bar on a terminal, plain lines elsewhere.
#pragma once

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

  // `total` is 0 where it is not known.
  void Show(const std::string& stage, std::uint64_t done, std::uint64_t total,
            double elapsed_seconds);
  // A stoker_progress_fn; `self` is a ProgressBar.
  static void Callback(void* self, const char* stage, std::uint32_t done, std::uint32_t total,
                       const char* detail, double elapsed_seconds);

 private:
  const Style style_;
  std::string stage_;           // Of the last line.
  double next_line_after_ = 0;  // Elapsed seconds.
};

// "[#####.....]  50 %  3 of 6"; without a total "3".
std::string BarText(std::uint64_t done, std::uint64_t total);

}  // namespace stoker::cli
