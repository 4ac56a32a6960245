#include "daemon/service/worker/worker_pool.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>

#include "daemon/service/worker/worker_sandbox.h"
#include "protocol/artifact/artifact.h"
#include "tests/unit/daemon/service/coroutines.h"
#include "tests/unit/daemon/service/fake_compiler.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPoolTest() { setenv(kFolderVariable, folder_.path().c_str(), 1); }

  static WorkerConfig Config() {
    WorkerConfig config;
    config.program.path = STOKER_FAKE_WORKER;
    config.program.variables.emplace_back(kFolderVariable);
    config.program.memory_limit_mib = 512;
    return config;
  }
  std::unique_ptr<WorkerPool> MakePool(WorkerConfig config = Config()) {
    return std::make_unique<WorkerPool>(coroutines_.io().get_executor(), coroutines_.blocking(),
                                        std::move(config), Logger());
  }
  WorkerPool::Log Logger() {
    return [this](std::string_view message, std::string_view request_id) {
      const std::lock_guard lock(mutex_);
      log_.push_back(std::string(message) + " request=" + std::string(request_id));
    };
  }
  std::vector<std::string> Log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::future<Result<wire::WorkerDone>> Start(WorkerPool& pool, Behaviour behaviour,
                                              int variant = 0) {
    return coroutines_.Start(Ask(pool, FakeCall(behaviour, variant)));
  }
  Result<wire::WorkerDone> Run(WorkerPool& pool, Behaviour behaviour, int variant = 0) {
    return Start(pool, behaviour, variant).get();
  }

  boost::asio::awaitable<Result<wire::WorkerDone>> Ask(WorkerPool& pool, wire::CompileCall call) {
    wire::WorkerRequest request;
    request.call = std::move(call);
    request.request_id = "request-1";
    wire::WorkerDone taken;
    WorkerPool::Handlers handlers;
    handlers.find_kernels =
        [this](const wire::KernelQuery& query) -> boost::asio::awaitable<wire::WorkerKernelReply> {
      wire::WorkerKernelReply reply;
      for (const Digest& key : query.kernel_keys) {
        reply.kernels.push_back({key, known_.contains(key) ? known_[key] : Digest(), 1});
      }
      co_return reply;
    };
    handlers.on_progress = [this](const wire::Progress& progress) {
      const std::lock_guard lock(mutex_);
      stages_.push_back(progress.stage);
      worker_ = progress.detail;
    };
    handlers.accept = [&](wire::WorkerDone done) -> boost::asio::awaitable<Status> {
      taken = std::move(done);
      co_return accepts_;
    };
    auto failure = co_await pool.Run(request, handlers);
    {
      const std::lock_guard lock(mutex_);
      failure_class_ = failure ? std::optional(failure->failure_class) : std::nullopt;
    }
    if (failure) co_return std::move(failure->error);
    co_return taken;
  }
  // The worker that served the latest request.
  std::string Worker() {
    const std::lock_guard lock(mutex_);
    return worker_;
  }
  static std::map<std::string, std::uint64_t> Ends(const WorkerPool& pool) {
    std::map<std::string, std::uint64_t> ends;
    for (std::size_t i = 0; i < kWorkerEndCount; ++i) {
      const std::uint64_t count = pool.metrics().ends[i];
      if (count > 0) ends[std::string(Name(static_cast<WorkerEnd>(i)))] = count;
    }
    return ends;
  }

  TempFolder folder_;
  std::map<Digest, Digest> known_;
  Status accepts_ = Ok();
  std::mutex mutex_;  // Guards what follows.
  std::vector<std::string> log_;
  std::vector<std::string> stages_;
  std::string worker_;
  std::optional<FailureClass> failure_class_;
  Coroutines coroutines_;
};

TEST_F(WorkerPoolTest, Run_Good_GivesArtifactKernelsAndProgress) {
  const auto pool = MakePool();
  const auto done = Run(*pool, Behaviour::kGood);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto artifact = DecodeArtifact(done->artifact);
  ASSERT_TRUE(artifact.ok());
  EXPECT_EQ(artifact->request_key, FakeCall(Behaviour::kGood).request_key);
  EXPECT_EQ(done->kernels.size(), 2U);
  EXPECT_EQ(done->constants.size(), 1U);
  EXPECT_GT(done->compile_seconds, 0);
  EXPECT_THAT(stages_, ElementsAre("compiling"));
  EXPECT_EQ(pool->running(), 0);
}

TEST_F(WorkerPoolTest, Run_KnownKernels_AreNotCompiled) {
  const auto pool = MakePool();
  known_[Sha256Of("key of all")] = Sha256Of("code of all");
  const auto done = Run(*pool, Behaviour::kGood);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->kernels.size(), 1U);
}

TEST_F(WorkerPoolTest, Run_Again_ReusesTheWorker_UntilItsShareIsServed) {
  WorkerConfig config = Config();
  config.requests_per_worker = 2;
  const auto pool = MakePool(config);
  std::vector<std::string> workers;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Run(*pool, Behaviour::kGood, i).ok());
    workers.push_back(Worker());
  }
  EXPECT_EQ(workers[0], workers[1]);
  EXPECT_NE(workers[1], workers[2]);
  EXPECT_EQ(workers[2], workers[3]);
  EXPECT_NE(workers[3], workers[4]);
  EXPECT_THAT(Ends(*pool), ElementsAre(Pair("worn_out", 2)));
}

// What a hostile graph made of a worker must not meet another's request.
TEST_F(WorkerPoolTest, Run_OtherNamespace_HasAWorkerOfItsOwn) {
  const auto pool = MakePool();
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  const auto worker_of = [&](const std::string& name_space) {
    call.ns = name_space;
    EXPECT_TRUE(coroutines_.Run(Ask(*pool, call)).ok());
    return Worker();
  };
  const std::string first = worker_of("a");
  EXPECT_EQ(worker_of("a"), first);
  const std::string other = worker_of("b");
  EXPECT_NE(other, first);
  // One is kept, as many as may run: the latest.
  EXPECT_EQ(worker_of("b"), other);
  EXPECT_NE(worker_of("a"), first);
  EXPECT_THAT(Ends(*pool), ElementsAre(Pair("displaced", 2)));
}

TEST_F(WorkerPoolTest, Run_AfterAnAnomaly_HasAnotherWorker_AfterADiagnosticTheSame) {
  const auto pool = MakePool();
  ASSERT_TRUE(Run(*pool, Behaviour::kGood).ok());
  const std::string first = Worker();
  EXPECT_FALSE(Run(*pool, Behaviour::kError).ok());
  EXPECT_EQ(failure_class_, FailureClass::kDiagnostic);
  EXPECT_EQ(Worker(), first);
  EXPECT_FALSE(Run(*pool, Behaviour::kThrow).ok());
  EXPECT_EQ(failure_class_, FailureClass::kInternal);
  EXPECT_EQ(Worker(), first);
  ASSERT_TRUE(Run(*pool, Behaviour::kGood).ok());
  const std::string second = Worker();
  EXPECT_NE(second, first);
  accepts_ = Internal("It is not what was asked for.");
  EXPECT_FALSE(Run(*pool, Behaviour::kGood).ok());
  EXPECT_EQ(failure_class_, FailureClass::kInternal);
  accepts_ = Ok();
  ASSERT_TRUE(Run(*pool, Behaviour::kGood).ok());
  EXPECT_NE(Worker(), second);
  EXPECT_THAT(Ends(*pool), ElementsAre(Pair("untrusted", 2)));
}

TEST_F(WorkerPoolTest, Metrics_CountEveryRequest_AndWhatWorkersSayIsKnown) {
  const auto pool = MakePool();
  WaitUntil("the first worker is up", [&] { return pool->ready().has_value(); });
  EXPECT_EQ(pool->ready()->protections.size(), kWorkerProtections.size());
  EXPECT_THAT(pool->ready()->target_kinds, ElementsAre("cpu", "cuda"));
  ASSERT_TRUE(Run(*pool, Behaviour::kGood).ok());
  EXPECT_FALSE(Run(*pool, Behaviour::kError).ok());
  for (const LatencyHistogram* histogram : {&pool->metrics().queue, &pool->metrics().run}) {
    const LatencySnapshot snapshot = histogram->snapshot();
    EXPECT_EQ(std::accumulate(snapshot.counts.begin(), snapshot.counts.end(), 0ULL), 2U);
  }
}

struct Failure {
  std::string name;
  Behaviour behaviour;
  ErrorCode code;
  std::string said;
  int compiles;  // Attempts.
};

class WorkerPoolFailure : public WorkerPoolTest, public testing::WithParamInterface<Failure> {};

TEST_P(WorkerPoolFailure, Run_FailsWithItsReason_AndTheNextRequestIsServed) {
  const auto pool = MakePool();
  const auto done = Run(*pool, GetParam().behaviour);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, GetParam().code) << done.error().message;
  EXPECT_THAT(done.error().message, HasSubstr(GetParam().said));
  EXPECT_EQ(CompilesOf(GetParam().behaviour), GetParam().compiles);
  EXPECT_TRUE(Run(*pool, Behaviour::kGood).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Table, WorkerPoolFailure,
    testing::Values(
        Failure{"Error", Behaviour::kError, ErrorCode::kUnimplemented, "Op 'x'", 1},
        Failure{"Throw", Behaviour::kThrow, ErrorCode::kInternal, "thrown in the compiler", 1},
        Failure{"Crash", Behaviour::kCrash, ErrorCode::kInternal, "ended with status 139", 2},
        Failure{"Exit", Behaviour::kExit, ErrorCode::kInternal, "ended with status 3", 2},
        Failure{"Nonsense", Behaviour::kNonsense, ErrorCode::kInternal, "signal 9 (Killed)", 2},
        Failure{"ManyQueries", Behaviour::kManyQueries, ErrorCode::kInternal, "signal 9 (Killed)",
                2}),
    [](const auto& row) { return row.param.name; });

TEST_F(WorkerPoolTest, Run_BeyondItsTime_IsEndedAndNotTriedAgain_AndTheNextRequestIsServed) {
  WorkerConfig config = Config();
  config.time_limit = 1s;
  const auto pool = MakePool(config);
  const auto done = Run(*pool, Behaviour::kHang);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kDeadlineExceeded) << done.error().message;
  EXPECT_THAT(done.error().message, HasSubstr("limit of 1 s"));
  EXPECT_LE(CompilesOf(Behaviour::kHang), 1);  // None: the worker did not come up in time.
  // The limit is the next one's too, which a busy machine may not keep at once.
  WaitUntil("the next request is served", [&] { return Run(*pool, Behaviour::kGood).ok(); });
}

TEST_F(WorkerPoolTest, Run_MemoryBomb_NamesTheLimit) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "memory is not limited under sanitizers";
#endif
  WorkerConfig config = Config();
  config.program.memory_limit_mib = kBombLimitMib;
  const auto pool = MakePool(config);
  const auto done = Run(*pool, Behaviour::kMemory);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(done.error().message, HasSubstr(std::to_string(kBombLimitMib) + " MiB"));
  EXPECT_EQ(CompilesOf(Behaviour::kMemory), 1);
  EXPECT_TRUE(Run(*pool, Behaviour::kGood).ok());
}

TEST_F(WorkerPoolTest, Run_CrashOnce_IsTriedAgainAndLogged) {
  const auto pool = MakePool();
  EXPECT_TRUE(Run(*pool, Behaviour::kCrashOnce).ok());
  EXPECT_EQ(CompilesOf(Behaviour::kCrashOnce), 2);
  EXPECT_THAT(Log(), ElementsAre(AllOf(HasSubstr("signal 6 (Aborted)"), HasSubstr("512 MiB"),
                                       HasSubstr(" request=request-1"))));
  EXPECT_THAT(Ends(*pool), ElementsAre(Pair("crash", 1)));
}

TEST_F(WorkerPoolTest, Run_MoreThanWorkers_WaitTheirTurn) {
  WorkerConfig config = Config();
  config.max_workers = 2;
  const auto pool = MakePool(config);
  constexpr int kJobs = 5;
  // Started on two threads, they take their turns in any order.
  std::vector<std::future<Result<wire::WorkerDone>>> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(Start(*pool, Behaviour::kWait, i));
  const auto begun = [] {
    int compiles = 0;
    for (int i = 0; i < kJobs; ++i) compiles += CompilesOf(Behaviour::kWait, i);
    return compiles;
  };
  WaitUntil("two compiles have begun", [&] { return begun() >= 2; });
  EXPECT_EQ(pool->running(), 2);
  EXPECT_EQ(begun(), 2);
  ReleaseWaiting();
  for (auto& job : jobs) EXPECT_TRUE(job.get().ok());
  EXPECT_EQ(begun(), kJobs);
  EXPECT_EQ(pool->running(), 0);
}

TEST_F(WorkerPoolTest, Run_NoProgram_Fails) {
  WorkerConfig config = Config();
  config.program.path = "/nonexistent/worker";
  const auto pool = MakePool(config);
  const auto done = Run(*pool, Behaviour::kGood);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("/nonexistent/worker"));
}

TEST_F(WorkerPoolTest, End_LeavesNoProcess) {
  {
    Coroutines coroutines;  // Handlers that hold a worker end with it.
    WorkerPool pool(coroutines.io().get_executor(), coroutines.blocking(), Config(), Logger());
    ASSERT_TRUE(coroutines.Run(Ask(pool, FakeCall(Behaviour::kGood))).ok());
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// The daemon's last moment: its event loop stops in the middle of a compile.
TEST_F(WorkerPoolTest, Stop_InTheMiddle_KillsTheWorker) {
  {
    Coroutines coroutines;
    WorkerPool pool(coroutines.io().get_executor(), coroutines.blocking(), Config(), Logger());
    auto job = coroutines.Start(Ask(pool, FakeCall(Behaviour::kHang)));
    auto waiting = coroutines.Start(Ask(pool, FakeCall(Behaviour::kGood)));
    WaitUntil("the compile has begun", [] { return CompilesOf(Behaviour::kHang) > 0; });
    coroutines.Stop();
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_THAT(Log(), IsEmpty());
}

}  // namespace
}  // namespace stoker
