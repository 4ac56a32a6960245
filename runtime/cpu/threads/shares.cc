#include "runtime/cpu/threads/shares.h"

#include <algorithm>
#include <cstddef>

namespace stoker::cpu {

std::array<int, kMaxTeams> FairShares(const std::array<int, kMaxTeams>& wanted, int cpus) {
  std::array<std::size_t, kMaxTeams> order{};
  std::size_t callers = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] > 0) order[callers++] = i;
  }
  // Who wants least first: what it leaves is the others'.
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(callers);
  std::sort(order.begin(), end, [&](std::size_t a, std::size_t b) {
    return wanted[a] != wanted[b] ? wanted[a] < wanted[b] : a > b;
  });
  std::array<int, kMaxTeams> shares{};
  int left = cpus;
  for (std::size_t i = 0; i < callers; ++i) {
    const int part = left / static_cast<int>(callers - i);
    int& share = shares[order[i]];
    share = std::clamp(part, 1, wanted[order[i]]);
    left = std::max(0, left - share);
  }
  return shares;
}

}  // namespace stoker::cpu
