#include "client/python/guard_program/huge_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1.
#endif

namespace stoker::guards {
namespace {

constexpr std::uintptr_t kPage = 4096;
constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
constexpr std::size_t kPages = kHugePage / kPage;
// Below this, a huge page is not worth a millisecond of copying.
constexpr std::size_t kLeastLookedAt = 4;
constexpr std::size_t kLeastResident = kPages - kPages / 8;
constexpr int kLowestPriority = 19;

bool AreAllowed() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string chosen;
  return std::getline(file, chosen) && chosen.find("[never]") == std::string::npos;
}

// Starts of huge pages, of which enough is looked at.
std::vector<std::uintptr_t> PlacesOf(const std::vector<const void*>& addresses) {
  std::set<std::uintptr_t> pages;
  for (const void* address : addresses) {
    pages.insert(reinterpret_cast<std::uintptr_t>(address) / kPage);
  }
  std::map<std::uintptr_t, std::size_t> looked_at;
  for (const std::uintptr_t page : pages) ++looked_at[page / kPages * kHugePage];
  std::vector<std::uintptr_t> places;
  for (const auto& [place, count] : looked_at) {
    if (count >= kLeastLookedAt) places.push_back(place);
  }
  return places;
}

// False too where not all of it is mapped.
bool IsResident(void* start) {
  std::array<unsigned char, kPages> pages;
  if (mincore(start, kHugePage, pages.data()) != 0) return false;
  return static_cast<std::size_t>(std::ranges::count_if(
             pages, [](unsigned char page) { return (page & 1) != 0; })) >= kLeastResident;
}

void Move(const std::vector<std::uintptr_t>& places) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
  for (const std::uintptr_t place : places) {
    auto* const start = reinterpret_cast<void*>(place);
    if (IsResident(start)) madvise(start, kHugePage, MADV_COLLAPSE);
  }
}

}  // namespace

void GatherOnHugePages(const std::vector<const void*>& addresses) {
  static const bool kAreAllowed = AreAllowed();
  static std::set<std::uintptr_t> known;
  if (!kAreAllowed) return;
  std::vector<std::uintptr_t> places = PlacesOf(addresses);
  std::erase_if(places, [](std::uintptr_t place) { return !known.insert(place).second; });
  if (places.empty()) return;
  sigset_t all, before;  // Signals are for the program's own threads.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(Move, std::move(places)).detach();
  } catch (const std::system_error&) {  // No more threads: the memory stays where it is.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace stoker::guards
