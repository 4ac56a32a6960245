#include "daemon/service/store/upkeep.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "cache/clock.h"
#include "daemon/service/store/artifact_store.h"
#include "daemon/service/waiting/signal.h"
#include "protocol/wire/capture_messages.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// Between two events of progress: so soon it is seen that nobody listens.
constexpr std::chrono::milliseconds kBeat{500};

// Of the calling thread: processor and disk are for everybody else first.
void YieldToAll() {
  constexpr int kLowest = 19;
  constexpr int kIoOfThread = 1;    // IOPRIO_WHO_PROCESS
  constexpr int kIoIdle = 3 << 13;  // IOPRIO_CLASS_IDLE
  const auto thread = static_cast<id_t>(gettid());
  // Where the system refuses, the work is done all the same.
  (void)setpriority(PRIO_PROCESS, thread, kLowest);
  (void)syscall(SYS_ioprio_set, kIoOfThread, thread, kIoIdle);
}

std::int64_t NanosOf(double seconds) {
  return static_cast<std::int64_t>(seconds * kNanosPerSecond);
}

// Of what compiled the entry; empty if it says nothing.
std::string EpochOf(const ActionEntry& entry) {
  if (entry.kind == BlobKind::kArtifact) {
    const auto call = wire::DecodeCompileCall(entry.metadata);
    return call.ok() ? call->compiler_epoch : std::string();
  }
  if (entry.kind != BlobKind::kCapture) return {};
  const auto key = wire::DecodeCaptureQuery(entry.metadata);
  if (!key.ok()) return {};
  return TextOf(key->fields, kCompilerTag);
}

PurgeRequest PurgeOf(const wire::PurgeRequest& asked) {
  PurgeRequest request;
  request.dry_run = asked.dry_run;
  request.wants_last_use = asked.unused_seconds > 0;
  // Where kernels are found by their keys: they keep no kernel that no artifact uses.
  request.shadows = {std::string(kKernelNamespace)};
  const std::int64_t before = SystemUnixNanos() - NanosOf(asked.unused_seconds);
  request.matches = [asked, before](std::string_view name_space, const Digest& /*key*/,
                                    const ActionEntry& entry, std::int64_t last_used_unix_ns) {
    if (asked.ns.empty() ? name_space == kKernelNamespace : name_space != asked.ns) return false;
    if (asked.unused_seconds > 0 &&
        std::max(last_used_unix_ns, entry.published_unix_ns) >= before) {
      return false;
    }
    return asked.compiler_epoch.empty() || EpochOf(entry) == asked.compiler_epoch;
  };
  return request;
}

wire::UpkeepReport ReportOf(const GarbageReport& report) {
  return {{{"entries", report.entries},
           {"unnamed_blobs", report.unnamed_blobs},
           {"unnamed_bytes", report.unnamed_bytes},
           {"evicted_blobs", report.evicted_blobs},
           {"evicted_bytes", report.evicted_bytes},
           {"stored_bytes", report.stored_bytes},
           {"file_bytes_before", report.file_bytes_before},
           {"file_bytes", report.file_bytes}}};
}

wire::UpkeepReport ReportOf(const PurgeReport& report) {
  return {{{"entries", report.entries},
           {"pinned_entries", report.pinned_entries},
           {"blobs", report.blobs},
           {"bytes", report.bytes}}};
}

wire::UpkeepReport ReportOf(const VerifyReport& report) {
  return {{{"blobs", report.blobs},
           {"bytes", report.bytes},
           {"damaged", report.damaged},
           {"repaired", report.repaired},
           {"entries", report.entries}}};
}

std::string TextOf(const wire::UpkeepReport& report) {
  std::string text;
  for (const auto& [name, value] : report.counts) {
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  }
  return text;
}

std::uint32_t Clamped(std::uint64_t count) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(count, kMost));
}

}  // namespace

// Shared by the thread that works and the coroutine that tells of it.
struct Upkeep::Run {
  Run(std::string work, std::string asker) : what(std::move(work)), who(std::move(asker)) {}

  void Report(std::string_view stage, std::uint64_t done, std::uint64_t total) {
    const std::lock_guard lock(mutex);
    progress.stage = stage;
    progress.done = Clamped(done);
    progress.total = Clamped(total);
  }
  wire::Progress Progress() {
    const std::lock_guard lock(mutex);
    progress.elapsed_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return progress;
  }
  std::optional<Result<wire::UpkeepReport>> Landed() {
    const std::lock_guard lock(mutex);
    return report;
  }

  const std::string what;
  const std::string who;
  const Clock::time_point start = Clock::now();
  std::atomic<bool> stop = false;
  Signal landed;
  std::mutex mutex;  // Guards what follows.
  wire::Progress progress{
      .stage = "starting", .done = 0, .total = 0, .detail = "", .elapsed_seconds = 0};
  std::optional<Result<wire::UpkeepReport>> report;
};

Upkeep::Upkeep(CacheStack& stack, Config config) : stack_(stack), config_(std::move(config)) {
  asio::post(thread_, YieldToAll);
}

bool Upkeep::is_running() const {
  const std::lock_guard lock(mutex_);
  return running_ != nullptr;
}

void Upkeep::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr) running_->stop = true;
  }
  thread_.join();
}

asio::awaitable<Status> Upkeep::CollectGarbage(wire::GcRequest request, std::string who,
                                               const Send& send) {
  const GarbageRequest garbage{.to_bytes = request.limit_bytes,
                               .unnamed_age_ns = NanosOf(request.unnamed_seconds)};
  return Do(
      "garbage collection", std::move(who),
      [this, garbage](const UpkeepWatch& watch) -> Result<wire::UpkeepReport> {
        STOKER_TRY(const GarbageReport report, stack_.CollectGarbage(garbage, watch));
        return ReportOf(report);
      },
      send);
}

asio::awaitable<Status> Upkeep::Purge(wire::PurgeRequest request, std::string who,
                                      const Send& send) {
  return Do(
      request.dry_run ? "dry purge" : "purge", std::move(who),
      [this, request](const UpkeepWatch& watch) -> Result<wire::UpkeepReport> {
        STOKER_TRY(const PurgeReport report, stack_.Purge(PurgeOf(request), watch));
        return ReportOf(report);
      },
      send);
}

asio::awaitable<Status> Upkeep::Verify(std::string who, const Send& send) {
  return Do(
      "verification", std::move(who),
      [this](const UpkeepWatch& watch) -> Result<wire::UpkeepReport> {
        STOKER_TRY(const VerifyReport report, stack_.Verify(watch));
        return ReportOf(report);
      },
      send);
}

asio::awaitable<Status> Upkeep::Do(std::string what, std::string who, Work work, const Send& send) {
  const auto run = std::make_shared<Run>(std::move(what), std::move(who));
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr) {
      const auto since =
          std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - running_->start);
      co_return FailedPrecondition("A " + running_->what + " that " + running_->who +
                                   " has asked for runs since " + std::to_string(since.count()) +
                                   " s; one runs at a time.");
    }
    running_ = run;
  }
  asio::post(thread_, [this, run, work = std::move(work)] {
    const UpkeepWatch watch{
        .progress = [&run](std::string_view stage, std::uint64_t done,
                           std::uint64_t total) { run->Report(stage, done, total); },
        .stop = run->stop};
    Finish(*run, work(watch));
  });
  while (true) {
    const std::uint64_t version = run->landed.version();
    if (const auto landed = run->Landed()) {
      if (landed->ok()) co_return co_await send(**landed);
      co_return co_await send(wire::ErrorReplyOf(landed->error()));
    }
    if (config_.is_draining()) run->stop = true;
    if (const Status sent = co_await send(run->Progress()); !sent.ok()) {
      run->stop = true;
      co_return sent;
    }
    co_await run->landed.WaitBeyond(version, kBeat);
  }
}

void Upkeep::Finish(Run& run, Result<wire::UpkeepReport> report) {
  config_.log("The " + run.what + " that " + run.who + " has asked for " +
              (report.ok() ? "is done: " + TextOf(*report) : "ends: " + report.error().message));
  {
    const std::lock_guard lock(run.mutex);
    run.report = std::move(report);
  }
  {
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
  }
  run.landed.Notify();
}

}  // namespace stoker
