#include "client/cli/output/reply.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "client/cli/output/format.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

std::string Shown(std::string_view text, Texts texts) {
  return texts == Texts::kLines ? PrintableLines(text) : Printable(text);
}

}  // namespace

void MakePrintable(json::value& value, Texts texts) {
  if (value.is_string()) {
    value = Shown(value.as_string(), texts);
  } else if (value.is_array()) {
    for (json::value& element : value.as_array()) MakePrintable(element, texts);
  } else if (value.is_object()) {
    json::object shown;
    for (auto& [name, field] : value.as_object()) {
      MakePrintable(field, texts);
      shown[Shown(name, texts)] = std::move(field);
    }
    value = std::move(shown);
  }
}

json::value ParseReply(std::string_view text, Texts texts) {
  boost::system::error_code wrong;
  json::value value = json::parse(text, wrong);
  if (wrong) throw std::runtime_error("The answer is no JSON: a stokerd gives no such.");
  MakePrintable(value, texts);
  return value;
}

}  // namespace stoker::cli
