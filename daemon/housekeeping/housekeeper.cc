#include "daemon/housekeeping/housekeeper.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "daemon/log/log.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kTick = 1s;
constexpr std::chrono::milliseconds kDrainTick = 10ms;
constexpr int kTicksPerMaintenance = 300;

void Warn(const char* what, const Status& outcome, Trouble& trouble) {
  if (trouble.IsNew(outcome)) LogWarning("{}: {}", what, outcome.error().message);
}

}  // namespace

Housekeeper::Housekeeper(asio::io_context& io, asio::thread_pool& blocking, const Config& config,
                         FolderClaim& claim, AccessControl& access, net::TlsServer* tls,
                         KeyRing& keys, CacheStack& stack, Statistics& statistics,
                         HistoryFile& history, CacheCounters& cache_counters,
                         CompileService& service, Upkeep& upkeep, AdminPages& pages,
                         net::Server& server, const ServiceManager& manager)
    : io_(io),
      blocking_(blocking),
      config_(config),
      claim_(claim),
      access_(access),
      tls_(tls),
      keys_(keys),
      stack_(stack),
      statistics_(statistics),
      history_(history),
      cache_counters_(cache_counters),
      service_(service),
      upkeep_(upkeep),
      pages_(pages),
      server_(server),
      manager_(manager),
      strand_(asio::make_strand(io)),
      timer_(io) {}

void Housekeeper::Start() {
  asio::post(strand_, [this] { ArmTimer(); });
}

void Housekeeper::RereadCredentials() {
  asio::post(blocking_, [this] {
    ReadCertificate(/*at_once=*/true);
    ReadTokens(/*at_once=*/true);
    ReadKeys();
  });
}

void Housekeeper::Drain(const std::string& why) {
  asio::post(strand_, [this, why] {
    if (service_.draining()) return;
    LogInfo("draining: {}", why);
    manager_.SayStopping();
    service_.Drain();
    claim_.SayDraining();
    server_.StopAccepting();
    drain_deadline_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(config_.drain_timeout_s);
    Tick();
  });
}

void Housekeeper::ArmTimer() {
  timer_.expires_after(service_.draining() ? kDrainTick : kTick);  // Cancels an earlier wait.
  timer_.async_wait(asio::bind_executor(strand_, [this](boost::system::error_code code) {
    if (!code) Tick();
  }));
}

void Housekeeper::Tick() {
  if (service_.draining()) {
    const bool drained = IsDrained();
    if (!drained && std::chrono::steady_clock::now() > drain_deadline_) {
      LogWarning("stopping with {} compiles running or waiting", service_.jobs());
    } else if (!drained) {
      ArmTimer();
      return;
    }
    io_.stop();
    return;
  }
  ++ticks_;
  manager_.SayAlive();
  // One at a time: behind a disk that hangs they must not queue.
  if (!writing_.exchange(true)) {
    const bool maintain = ticks_ >= kTicksPerMaintenance;
    if (maintain) ticks_ = 0;
    asio::post(blocking_, [this, maintain] {
      LookAtFolder();
      // Nothing is put where the folder was: it may be an empty mount point now.
      if (!folder_is_gone_) {
        WriteCounters(maintain);
        ReadKeys();
      }
      ReadTokens(/*at_once=*/false);
      ReadCertificate(/*at_once=*/false);
      writing_ = false;
    });
  }
  if (IsIdle()) Drain("idle for " + std::to_string(config_.idle_timeout_s) + " s");
  // One that clients start, they start again: what was mended must not wait until it is idle.
  if (config_.idle_timeout_s > 0 && program_.IsReplaced()) Drain("another program took its place");
  ArmTimer();
}

void Housekeeper::WriteCounters(bool maintain) {
  cache_counters_.Fold();
  Warn("statistics", statistics_.Flush(), statistics_trouble_);
  history_.Record();
  if (!maintain) return;
  Warn("cache maintenance", stack_.Maintain(), maintenance_trouble_);
  Warn("history", history_.Write(), history_trouble_);
}

void Housekeeper::ReadTokens(bool at_once) {
  TokenFile* const tokens = access_.tokens();
  if (tokens == nullptr) return;
  const Result<bool> changed = at_once ? tokens->Reload() : tokens->ReloadSettled();
  if (!changed.ok()) {
    LogError("the tokens stay as they were: {}", changed.error().message);
  } else if (*changed && tokens->is_empty()) {
    LogWarning("{}: every credential that it named is revoked", tokens->Describe());
  } else if (*changed) {
    LogInfo("{}", tokens->Describe());
  }
}

void Housekeeper::ReadKeys() {
  const auto before = keys_.keys();
  if (const Status read = keys_.Reload(); key_trouble_.IsNew(read)) {
    LogError("the signing keys stay as they were: {}", read.error().message);
  }
  const auto now = keys_.keys();
  if (now != before) LogInfo("signs with {} from now on", ListOf(now->Announced()));
}

void Housekeeper::ReadCertificate(bool at_once) {
  if (tls_ == nullptr) return;
  const Result<bool> changed = at_once ? tls_->Reload() : tls_->ReloadSettled();
  if (!changed.ok()) {
    LogError("the TLS certificate stays as it was: {}", changed.error().message);
  } else if (*changed) {
    LogInfo("TLS certificate {}", tls_->Describe());
  }
}

// One that clients start makes place: the next of them starts another, with a folder.
void Housekeeper::LookAtFolder() {
  const bool is_gone = claim_.IsGone();
  if (is_gone == std::exchange(folder_is_gone_, is_gone)) return;
  pages_.SetFolderGone(is_gone);
  if (!is_gone) {
    LogInfo("the cache folder '{}' is there again", config_.cache_dir);
    return;
  }
  LogError("the cache folder '{}' is gone: what is stored now is lost with this process",
           config_.cache_dir);
  if (config_.idle_timeout_s > 0) Drain("its cache folder is gone");
}

bool Housekeeper::IsIdle() {
  const std::uint64_t requests = pages_.requests();
  if (requests != last_requests_ || service_.jobs() > 0 || upkeep_.is_running()) {
    last_requests_ = requests;
    idle_ticks_ = 0;
    return false;
  }
  return config_.idle_timeout_s > 0 && ++idle_ticks_ >= config_.idle_timeout_s;
}

bool Housekeeper::IsDrained() const {
  return service_.jobs() == 0 && server_.active_requests() == 0;
}

}  // namespace stoker
