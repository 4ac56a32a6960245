// Progress: how far long work is. A bar that is drawn again on a terminal, lines elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

namespace stoker::cli {

class Progress {
 public:
  explicit Progress(std::FILE* out);
  ~Progress();  // The bar goes.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `counts`: what became of the steps so far, for people. Not concurrently, nor is what follows.
  void Show(std::size_t done, std::size_t total, const std::string& counts);
  // What stays.
  void Say(const std::string& line);

  double elapsed_s() const;

 private:
  void Clear();

  std::FILE* const out_;
  const bool is_terminal_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace stoker::cli
