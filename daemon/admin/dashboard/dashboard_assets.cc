#include "daemon/admin/dashboard/dashboard_assets.h"

namespace stoker {
namespace {

// A directive of C23, which the compiler knows in C++ as well.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char kIndex[] = {
#embed "daemon/admin/dashboard/index.html"
};
constexpr char kStyle[] = {
#embed "daemon/admin/dashboard/style.css"
};
constexpr char kScript[] = {
#embed "daemon/admin/dashboard/dashboard.js"
};
constexpr char kChart[] = {
#embed STOKER_CHART_JS
};
#pragma clang diagnostic pop

template <std::size_t kSize>
constexpr std::string_view TextOf(const char (&bytes)[kSize]) {
  return {bytes, kSize};
}

constexpr Asset kAssets[] = {
    {"index.html", "text/html; charset=utf-8", TextOf(kIndex)},
    {"style.css", "text/css; charset=utf-8", TextOf(kStyle)},
    {"dashboard.js", "text/javascript; charset=utf-8", TextOf(kScript)},
    {"chart.js", "text/javascript; charset=utf-8", TextOf(kChart)},
};

}  // namespace

std::span<const Asset> DashboardAssets() { return kAssets; }

}  // namespace stoker
