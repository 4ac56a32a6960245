// export and import: a daemon's cache in a file.
#include <fmt/core.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/output/format.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/reply.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

struct BundleArguments {
  std::string path;
  std::string name_space;
  bool as_json = false;
};

void ShowTransfer(void* context, std::size_t done, std::size_t total) {
  auto* bar = static_cast<ProgressBar*>(context);
  bar->Show("entries", done, total, bar->elapsed_s());
}

void PrintOutcome(const std::string& text, const char* verb, const BundleArguments& arguments) {
  if (arguments.as_json) {
    fmt::print("{}\n", text);
    return;
  }
  const json::value counts = ParseReply(text);
  const auto count = [&](const char* name) { return counts.at(name).to_number<std::uint64_t>(); };
  fmt::print("{} artifacts and {} captures {} ({}), {} were there already, {} left out{}\n",
             count("artifacts"), count("captures"), verb,
             FormatBytes(counts.at("bytes").to_number<double>()), count("there_already"),
             count("skipped"),
             count("skipped") > 0 ? ": of another compiler, or gone meanwhile" : "");
}

int RunExport(Client& client, const BundleArguments& arguments) {
  char* text = nullptr;
  {
    ProgressBar progress(arguments.as_json);
    detail::Check(stoker_bundle_export(client.get(), arguments.name_space.c_str(),
                                       arguments.path.c_str(), ShowTransfer, &progress, &text));
  }
  PrintOutcome(detail::TakeText(text), "exported", arguments);
  return 0;
}

int RunImport(Client& client, const BundleArguments& arguments) {
  char* text = nullptr;
  {
    ProgressBar progress(arguments.as_json);
    detail::Check(
        stoker_bundle_import(client.get(), arguments.path.c_str(), ShowTransfer, &progress, &text));
  }
  PrintOutcome(detail::TakeText(text), "imported", arguments);
  return 0;
}

}  // namespace

void AddExport(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "export", "Writes artifacts and captures into a bundle, which may be there already");
  auto arguments = std::make_shared<BundleArguments>();
  sub->add_option("bundle", arguments->path, "The file")->required();
  sub->add_option("--namespace", arguments->name_space, "Only this namespace")
      ->check(NamespaceName());
  sub->add_flag("--json", arguments->as_json, "One JSON object at the end");
  sub->callback([&command, arguments] {
    command = [arguments](Client& client) { return RunExport(client, *arguments); };
  });
}

void AddImport(CLI::App& app, Command& command) {
  CLI::App* sub =
      app.add_subcommand("import", "Stores what a bundle holds; needs the scope 'admin'");
  auto arguments = std::make_shared<BundleArguments>();
  sub->add_option("bundle", arguments->path, "The file")->required();
  sub->add_flag("--json", arguments->as_json, "One JSON object at the end");
  sub->callback([&command, arguments] {
    command = [arguments](Client& client) { return RunImport(client, *arguments); };
  });
}

}  // namespace stoker::cli
