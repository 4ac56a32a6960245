// The files of dashboard/, and Chart.js, which are part of the program.
#pragma once

#include <span>
#include <string_view>

namespace stoker {

struct Asset {
  std::string_view name;  // As in its URL, below /dashboard/.
  std::string_view content_type;
  std::string_view bytes;
};

std::span<const Asset> DashboardAssets();

}  // namespace stoker
