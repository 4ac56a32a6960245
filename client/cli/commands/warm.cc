// warm: has a daemon compile what jobs will ask for.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/export_archive.h"
#include "client/cli/output/format.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/reply.h"
#include "client/cli/output/standard_streams.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMaxJobs = 256;  // What a daemon's queue takes, unless it says otherwise.
constexpr std::uint32_t kMaxStale = 100000;

struct WarmArguments {
  std::string manifest;  // Or an archive of torch.export.
  ArchiveOptions archive;
  std::uint32_t hot = 0;
  std::vector<std::string> targets;
  std::vector<std::string> numerics;
  std::string mode;
  std::string name_space;
  std::uint32_t jobs = 8;
  bool check = false;
  bool as_json = false;
};

using Plan = std::unique_ptr<stoker_warm_plan, detail::Deleter<&stoker_warm_plan_free>>;

Plan PlanOf(Client& client, const WarmArguments& arguments, const std::string& manifest) {
  stoker_warm_plan* plan = nullptr;
  if (arguments.hot > 0) {
    detail::Check(stoker_warm_plan_of_stale(client.get(), arguments.name_space.c_str(),
                                            arguments.hot, &plan));
    return Plan(plan);
  }
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<const char*> result;
    for (const std::string& text : texts) result.push_back(text.c_str());
    return result;
  };
  const std::vector<const char*> targets = pointers(arguments.targets);
  const std::vector<const char*> numerics = pointers(arguments.numerics);
  stoker_warm_options options{};
  options.struct_size = sizeof options;
  options.name_space = arguments.name_space.c_str();
  options.targets = targets.data();
  options.num_targets = targets.size();
  options.numerics = numerics.data();
  options.num_numerics = numerics.size();
  detail::Check(stoker_warm_plan_of_manifest(client.get(), manifest.c_str(), &options, &plan));
  return Plan(plan);
}

// What becomes of the items of a plan, several at a time.
class Warming {
 public:
  Warming(stoker_warm_plan* plan, bool check)
      : plan_(plan), check_(check), total_(stoker_warm_plan_count(plan)) {}

  void Run(std::uint32_t jobs) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(jobs, total_); ++i) {
      threads.emplace_back([&] {
        for (std::size_t index = next++; index < total_; index = next++) RunItem(index);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  bool succeeded() const { return failures_.empty() && missing_ == 0; }

  std::string Counts() const {
    std::string text = fmt::format("{} {}", hits_, hits_ == 1 ? "hit" : "hits");
    if (check_) return text + fmt::format(", {} missing", missing_);
    text += fmt::format(", {} compiled", compiled_);
    if (stored_ > 0) text += fmt::format(", {} captures stored", stored_);
    return text + fmt::format(", {} failed", failures_.size());
  }

  json::object Json() const {
    return {{"total", done_},        {"hits", hits_},
            {"compiled", compiled_}, {"stored", stored_},
            {"missing", missing_},   {"failed", failures_.size()},
            {"failures", failures_}, {"seconds", progress_.elapsed_s()}};
  }

  std::size_t total() const { return total_; }
  double elapsed_s() const { return progress_.elapsed_s(); }

 private:
  // From any thread.
  void RunItem(std::size_t index) {
    json::object item = {{"kind", "item"}, {"key", ""}, {"label", ""}, {"target", ""}};
    stoker_warm_outcome outcome = STOKER_WARM_HIT;
    std::string failure;
    try {
      char* text = nullptr;
      detail::Check(stoker_warm_plan_item(plan_, index, &text));
      item = ParseReply(detail::TakeText(text)).as_object();
      detail::Check(stoker_warm_plan_run(plan_, index, check_ ? 1 : 0, &outcome));
    } catch (const std::exception& error) {
      failure = PrintableLines(error.what());
    }
    const std::lock_guard lock(mutex_);
    ++done_;
    Count(std::move(item), outcome, failure);
    progress_.ShowCounts(done_, total_, Counts());
  }

  void Count(json::object item, stoker_warm_outcome outcome, const std::string& failure) {
    const auto text_of = [&](const char* key) { return std::string(item.at(key).as_string()); };
    const std::string target = text_of("target");
    const std::string name =
        fmt::format("{} {} '{}'{}", text_of("kind"), text_of("key").substr(0, 16), text_of("label"),
                    target.empty() ? "" : " for " + target);
    const std::string place = fmt::format("[{}/{}]", done_, total_);
    if (!failure.empty()) {
      progress_.Say(fmt::format("{} {} fails: {}", place, name, failure));
      item["message"] = failure;
      failures_.push_back(std::move(item));
      return;
    }
    switch (outcome) {
      case STOKER_WARM_HIT:
        ++hits_;
        return;
      case STOKER_WARM_MISSING:
        ++missing_;
        progress_.Say(fmt::format("{} {} is missing", place, name));
        return;
      case STOKER_WARM_COMPILED:
        ++compiled_;
        progress_.Say(fmt::format("{} {} is compiled", place, name));
        return;
      case STOKER_WARM_STORED:
        ++stored_;
        return;
    }
  }

  stoker_warm_plan* const plan_;
  const bool check_;
  const std::size_t total_;
  std::mutex mutex_;  // Guards what follows while threads run.
  ProgressBar progress_{/*is_quiet=*/false};
  std::size_t done_ = 0;
  std::size_t hits_ = 0;
  std::size_t compiled_ = 0;
  std::size_t stored_ = 0;
  std::size_t missing_ = 0;
  json::array failures_;
};

void SayWhatIsLeftOut(const json::value& described) {
  if (const auto damaged = described.at("damaged_bytes").to_number<std::uint64_t>(); damaged > 0) {
    Tell("stoker: {} bytes of the manifest belong to no whole record.\n", damaged);
  }
  if (const auto skipped = described.at("skipped_captures").to_number<std::uint64_t>();
      skipped > 0) {
    Tell("stoker: {} captures are left out: they are of another compiler or target.\n", skipped);
  }
}

// What a job that was killed left half written is expected, but nobody has checked it.
bool IsWhole(const json::value& described, bool check) {
  const auto damaged = described.at("damaged_bytes").to_number<std::uint64_t>();
  const auto cut = described.at("cut_bytes").to_number<std::uint64_t>();
  return damaged == (check ? 0 : cut);
}

// A gate that lets pass what it did not look at is open.
bool HasCheckedNothing(const WarmArguments& arguments, const Warming& warming) {
  if (!arguments.check || arguments.hot > 0 || warming.total() > 0) return false;
  Tell("stoker: nothing was checked: '{}' asks this daemon for nothing.\n", arguments.manifest);
  return true;
}

int RunWarm(Client& client, const WarmArguments& arguments) {
  const bool is_archive = IsZip(arguments.manifest);
  if (!is_archive && arguments.archive.any()) {
    throw Error(STOKER_INVALID_ARGUMENT,
                "--size, --import and --no-grad-only are for an archive of torch.export; '" +
                    arguments.manifest + "' is none.");
  }
  const auto archive =
      is_archive ? RecordArchive(arguments.manifest, arguments.archive) : std::nullopt;
  if (is_archive && !archive) return 1;  // Its reader has said why.
  const Plan plan = PlanOf(client, arguments, archive ? archive->path() : arguments.manifest);
  char* text = nullptr;
  detail::Check(stoker_warm_plan_describe(plan.get(), &text));
  const json::value described = ParseReply(detail::TakeText(text));
  SayWhatIsLeftOut(described);
  Warming warming(plan.get(), arguments.check);
  warming.Run(arguments.jobs);
  if (arguments.as_json) {
    json::object summary = warming.Json();
    for (const auto& [name, value] : described.as_object()) summary[name] = value;
    fmt::print("{}\n", json::serialize(summary));
  } else {
    fmt::print("{} in {}\n", warming.Counts(), FormatSeconds(warming.elapsed_s()));
  }
  const bool succeeded = warming.succeeded() && IsWhole(described, arguments.check) &&
                         !HasCheckedNothing(arguments, warming);
  return succeeded ? 0 : 1;
}

void AddArchiveOptions(CLI::App& sub, ArchiveOptions& options) {
  sub.add_option("--size", options.sizes,
                 "Of an archive: a dynamic size of an input, such as x.0=1,8,32; may be repeated, "
                 "and all combinations count (default: those it was exported with)")
      ->allow_extra_args(false);
  sub.add_option("--import", options.modules,
                 "Of an archive: a Python module that registers its operators or classes; may be "
                 "repeated")
      ->allow_extra_args(false);
  sub.add_flag("--no-grad-only", options.no_grad_only,
               "Of an archive: for jobs under torch.no_grad() or inference_mode(), which ask for "
               "the same; without it, for those that compute gradients too");
}

}  // namespace

void AddWarm(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("warm",
                                     "Compiles what a manifest of 'stoker record', or an archive "
                                     "of torch.export, asks for, before "
                                     "a job does");
  auto arguments = std::make_shared<WarmArguments>();
  auto* manifest = sub->add_option(
      "manifest", arguments->manifest,
      "Of 'stoker record'; or model.pt2 of torch.export.save, for jobs that compile the module() "
      "of what they load");
  auto* hot = sub->add_option("--hot", arguments->hot,
                              "In place of a manifest: the N entries with most hits that another "
                              "compiler made");
  hot->transform(WholeNumber(1, kMaxStale))->excludes(manifest);
  sub->add_option(
         "--target", arguments->targets,
         "For this processor or GPU, such as cpu/x86-64-v4+amx_bf16 or cuda/sm_90a; may be "
         "repeated (default: that of each request)")
      ->allow_extra_args(false)
      ->excludes(hot);
  sub->add_option("--numerics", arguments->numerics,
                  "highest, high or medium; may be repeated (default: those of each request)")
      ->check(CLI::IsMember({"highest", "high", "medium"}))
      ->allow_extra_args(false)
      ->excludes(hot);
  AddArchiveOptions(*sub, arguments->archive);
  sub->add_option("--mode", arguments->mode,
                  "Of torch.compile; on processors all modes ask for the same code")
      ->check(CLI::IsMember(
          {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}));
  sub->add_option("--namespace", arguments->name_space, "Into this one (default: that of each)")
      ->check(NamespaceName());
  sub->add_option("--jobs", arguments->jobs, "At most so many at a time (default: 8)")
      ->transform(WholeNumber(1, kMaxJobs));
  sub->add_flag("--check", arguments->check,
                "Compile nothing; exit 1 if anything is missing, or nothing was checked");
  sub->add_flag("--json", arguments->as_json, "One JSON object at the end");
  sub->callback([&command, arguments] {
    if (arguments->manifest.empty() && arguments->hot == 0) {
      throw CLI::RequiredError("a manifest or --hot");
    }
    command = [arguments](Client& client) { return RunWarm(client, *arguments); };
  });
}

}  // namespace stoker::cli
