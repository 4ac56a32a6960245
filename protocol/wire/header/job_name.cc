#include "protocol/wire/header/job_name.h"

#include <algorithm>

namespace stoker::wire {
namespace {

bool IsOfJobName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:/@-").find(c) != std::string_view::npos;
}

}  // namespace

bool IsJobName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxJobNameBytes &&
         std::all_of(text.begin(), text.end(), IsOfJobName);
}

std::string JobNameOf(std::string_view text) {
  std::string name(text.substr(0, kMaxJobNameBytes));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !IsOfJobName(c); }, '-');
  return name;
}

}  // namespace stoker::wire
