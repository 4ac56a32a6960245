#include "daemon/service/compile_service.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <mutex>

#include "cache/memory_counter_store.h"
#include "tests/unit/daemon/service/coroutines.h"
#include "tests/unit/daemon/service/fake_compiler.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// What a caller of Compile saw.
struct Outcome {
  Status returned;  // What was met before anything was sent.
  std::vector<wire::Progress> progress;
  std::optional<wire::Bundle> bundle;
  std::optional<Error> error;  // As an event.
};

class CompileServiceTest : public testing::Test {
 protected:
  CompileServiceTest() {
    setenv(kFolderVariable, folder_.path().c_str(), 1);
    OpenStack(StackConfig{});
  }
  // Coroutines under way refer to the service.
  ~CompileServiceTest() override { coroutines_.Stop(); }

  void OpenStack(const StackConfig& config) {
    stack_ = CacheStack::Open(config, nullptr).value();
    statistics_ = Statistics::Open(counters_).value();
  }

  static ServiceConfig Config() {
    ServiceConfig config;
    config.worker.program.path = STOKER_FAKE_WORKER;
    config.worker.program.memory_limit_mib = 512;
    return config;
  }
  CompileService& Start(ServiceConfig config = Config()) {
    config.log.info = [](std::string_view) {};
    config.log.warn = [this](std::string_view message) {
      const std::lock_guard lock(mutex_);
      warnings_.emplace_back(message);
    };
    service_ =
        std::make_unique<CompileService>(coroutines_.io().get_executor(), coroutines_.blocking(),
                                         *stack_, *statistics_, ring_, std::move(config));
    return *service_;
  }

  // Counts in `*reports` what it is told while it waits.
  asio::awaitable<Outcome> Ask(wire::CompileCall call, std::atomic<int>* reports = nullptr) {
    Outcome outcome;
    const CompileService::Send send =
        [&](const wire::CompileEvent& event) -> asio::awaitable<Status> {
      if (const auto* progress = std::get_if<wire::Progress>(&event)) {
        outcome.progress.push_back(*progress);
        if (reports != nullptr && progress->stage == "compiling") ++*reports;
      } else if (const auto* bundle = std::get_if<wire::Bundle>(&event)) {
        outcome.bundle = *bundle;
      } else {
        outcome.error = wire::ErrorOf(std::get<wire::ErrorReply>(event));
      }
      co_return Ok();
    };
    outcome.returned = co_await service_->Compile(std::move(call), send);
    co_return outcome;
  }
  std::future<Outcome> StartCompile(Behaviour behaviour, int variant = 0) {
    return coroutines_.Start(Ask(FakeCall(behaviour, variant)));
  }
  Outcome Compile(wire::CompileCall call) { return coroutines_.Run(Ask(std::move(call))); }
  Outcome Compile(Behaviour behaviour, int variant = 0) {
    return Compile(FakeCall(behaviour, variant));
  }

  std::variant<wire::Bundle, wire::Miss> Lookup(const wire::CompileCall& call) {
    wire::LookupRequest lookup;
    lookup.ns = call.ns;
    lookup.request_key = call.request_key;
    lookup.graph_digest = call.graph_digest;
    lookup.fields =
        FieldsOf(call.graph_digest, call.signature, call.target, call.options, call.compiler_epoch);
    return coroutines_.Run(service_->Lookup(lookup)).value();
  }

  // All that was counted but times, which differ from run to run.
  Counters Counted() {
    Counters counters = statistics_->Totals();
    std::erase_if(counters, [](const auto& counter) {
      return counter.first.ends_with("seconds") || counter.first.ends_with("seconds_saved");
    });
    return counters;
  }
  std::vector<std::string> Warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  static void WaitForCompiles(Behaviour behaviour, int variant, int count) {
    WaitUntil("the compiles have begun", [=] { return CompilesOf(behaviour, variant) >= count; });
  }

  TempFolder folder_;
  MemoryCounterStore counters_;
  const KeyRing ring_{SigningKey::Make().value()};
  std::unique_ptr<CacheStack> stack_;
  std::unique_ptr<Statistics> statistics_;
  std::mutex mutex_;  // Guards what follows.
  std::vector<std::string> warnings_;
  Coroutines coroutines_;
  std::unique_ptr<CompileService> service_;
};

TEST_F(CompileServiceTest, Road_MissCompileHit_EverythingIsCounted) {
  Start();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  auto answer = Lookup(call);
  ASSERT_TRUE(std::holds_alternative<wire::Miss>(answer));
  EXPECT_FALSE(std::get<wire::Miss>(answer).graph_known);
  EXPECT_THAT(std::get<wire::Miss>(answer).reason, HasSubstr("namespace 'default'"));

  const Outcome outcome = Compile(call);
  ASSERT_TRUE(outcome.bundle);
  EXPECT_EQ(outcome.bundle->source, "compiled");
  EXPECT_THAT(outcome.bundle->blobs, SizeIs(3));
  EXPECT_GT(outcome.bundle->compile_seconds, 0);

  answer = Lookup(call);
  ASSERT_TRUE(std::holds_alternative<wire::Bundle>(answer));
  const auto& found = std::get<wire::Bundle>(answer);
  EXPECT_EQ(found.artifact, outcome.bundle->artifact);
  EXPECT_EQ(found.source, "memory");
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 1);
  EXPECT_EQ(statistics_->Total("seconds_saved"), found.compile_seconds);
  EXPECT_THAT(
      Counted(),
      UnorderedElementsAre(
          Pair("misses", 1), Pair("ns.default.misses", 1), Pair("kind.artifact.misses", 1),
          Pair("misses.reason.namespace is empty", 1), Pair("compiles", 1),
          Pair("ns.default.compiles", 1), Pair("kind.artifact.compiles", 1),
          Pair("kernels.compiled", 2), Pair("kernels.reused", 0), Pair("kind.kernel.compiles", 2),
          Pair("kind.kernel.misses", 2), Pair("kind.kernel.hits", 0), Pair("hits", 1),
          Pair("hits.memory", 1), Pair("ns.default.hits", 1), Pair("kind.artifact.hits", 1),
          Pair("entry.default." + call.request_key.ToHex().substr(0, 32) + ".hits", 1)));
}

TEST_F(CompileServiceTest, Compile_SecondRequest_CompilesOnlyTheKernelsThatAreNew) {
  Start();
  ASSERT_TRUE(Compile(Behaviour::kGood, 0).bundle);
  ASSERT_TRUE(Compile(Behaviour::kGood, 1).bundle);
  const Counters counted = Counted();
  EXPECT_EQ(counted.at("kernels.compiled"), 3);
  EXPECT_EQ(counted.at("kernels.reused"), 1);
  EXPECT_EQ(counted.at("kind.kernel.hits"), 1);
}

TEST_F(CompileServiceTest, Compile_ManyAtOnce_EachKeyIsCompiledOnce) {
  constexpr int kKeys = 3;
  constexpr int kCallers = 8;
  ServiceConfig config = Config();
  config.worker.max_workers = 2;
  Start(config);
  std::vector<std::future<Outcome>> jobs;
  for (int caller = 0; caller < kCallers; ++caller) {
    for (int key = 0; key < kKeys; ++key) jobs.push_back(StartCompile(Behaviour::kGood, key));
  }
  std::map<std::string, int> sources;
  for (auto& job : jobs) {
    const Outcome outcome = job.get();
    ASSERT_TRUE(outcome.bundle);
    ++sources[outcome.bundle->source];
  }
  EXPECT_EQ(sources["compiled"], kKeys);
  EXPECT_EQ(sources["joined"] + sources["memory"], kKeys * (kCallers - 1));
  for (int key = 0; key < kKeys; ++key) EXPECT_EQ(CompilesOf(Behaviour::kGood, key), 1);
  EXPECT_EQ(statistics_->Total("compiles"), kKeys);
  EXPECT_EQ(statistics_->Total("hits"), kKeys * (kCallers - 1));
  EXPECT_EQ(service_->jobs(), 0);
}

TEST_F(CompileServiceTest, Compile_JoinedWhileItRuns_BothSeeProgressAndTheBundle) {
  Start();
  std::atomic<int> first_reports{0};
  std::atomic<int> second_reports{0};
  auto first = coroutines_.Start(Ask(FakeCall(Behaviour::kWait), &first_reports));
  WaitUntil("the first is told", [&] { return first_reports > 0; });
  auto second = coroutines_.Start(Ask(FakeCall(Behaviour::kWait), &second_reports));
  WaitUntil("the second is told", [&] { return second_reports > 0; });
  // It waits for the same compile: it is no job of its own.
  EXPECT_EQ(service_->jobs(), 1);
  ReleaseWaiting();
  const Outcome a = first.get();
  const Outcome b = second.get();
  ASSERT_TRUE(a.bundle && b.bundle);
  EXPECT_EQ(a.bundle->source, "compiled");
  EXPECT_EQ(b.bundle->source, "joined");
  EXPECT_EQ(a.bundle->artifact, b.bundle->artifact);
}

TEST_F(CompileServiceTest, Compile_UnderWay_IsJoinedByItsKeyAlone) {
  Start();
  const wire::CompileCall whole = FakeCall(Behaviour::kWait);
  auto first = coroutines_.Start(Ask(whole, nullptr));
  WaitUntil("it is under way", [this] { return service_->jobs() == 1; });
  const auto miss = Lookup(whole);
  ASSERT_TRUE(std::holds_alternative<wire::Miss>(miss));
  EXPECT_TRUE(std::get<wire::Miss>(miss).graph_known);
  wire::CompileCall key_alone = whole;
  key_alone.graph.clear();
  wire::CompileCall nonsense = whole;
  nonsense.graph = "is not decoded";
  std::atomic<int> reports{0};
  auto second = coroutines_.Start(Ask(key_alone, &reports));
  auto third = coroutines_.Start(Ask(nonsense, &reports));
  WaitUntil("both wait", [&] { return reports >= 2; });
  EXPECT_EQ(service_->jobs(), 1);
  ReleaseWaiting();
  EXPECT_EQ(first.get().bundle->source, "compiled");
  EXPECT_EQ(second.get().bundle->source, "joined");
  EXPECT_EQ(third.get().bundle->source, "joined");
}

TEST_F(CompileServiceTest, Compile_WhatTheClientHolds_IsNotSent) {
  Start();
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  const Outcome whole = Compile(call);
  ASSERT_TRUE(whole.bundle);
  for (const wire::Blob& blob : whole.bundle->blobs) call.have_kernels.push_back(blob.digest);
  const Outcome held = Compile(call);
  ASSERT_TRUE(held.bundle);
  EXPECT_THAT(held.bundle->blobs, IsEmpty());
}

TEST_F(CompileServiceTest, Compile_GraphByDigestAlone_OnceItIsKnown) {
  Start();
  const wire::CompileCall whole = FakeCall(Behaviour::kGood);
  ASSERT_TRUE(Compile(whole).bundle);
  wire::CompileCall other = whole;
  other.target = Target::Parse("cpu/x86-64-v3").value();
  other.request_key =
      KeyOf(other.graph_digest, other.signature, other.target, other.options, other.compiler_epoch)
          .digest;
  const auto answer = Lookup(other);
  ASSERT_TRUE(std::holds_alternative<wire::Miss>(answer));
  EXPECT_TRUE(std::get<wire::Miss>(answer).graph_known);
  other.graph.clear();
  EXPECT_TRUE(Compile(other).bundle);
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 2);
}

struct Malformation {
  std::string name;
  std::function<void(wire::CompileCall&)> apply;
  ErrorCode code;
  std::string field;
};

class CompileServiceMalformation : public CompileServiceTest,
                                   public testing::WithParamInterface<Malformation> {};

TEST_P(CompileServiceMalformation, Compile_IsRefusedByField_AndTheNextIsServed) {
  Start();
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  GetParam().apply(call);
  const Outcome outcome = Compile(call);
  ASSERT_FALSE(outcome.returned.ok());
  EXPECT_EQ(outcome.returned.error().code, GetParam().code) << outcome.returned.error().message;
  EXPECT_EQ(wire::ErrorReplyOf(outcome.returned.error()).field, GetParam().field)
      << outcome.returned.error().message;
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 0);
  EXPECT_TRUE(Compile(Behaviour::kGood).bundle);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CompileServiceMalformation,
    testing::Values(
        Malformation{"KernelNamespace", [](auto& c) { c.ns = kKernelNamespace; },
                     ErrorCode::kInvalidArgument, "compile.namespace"},
        Malformation{"BazelNamespace", [](auto& c) { c.ns = kBazelNamespace; },
                     ErrorCode::kInvalidArgument, "compile.namespace"},
        Malformation{"Epoch", [](auto& c) { c.compiler_epoch = "fake-0"; },
                     ErrorCode::kFailedPrecondition, "compile.compiler_epoch"},
        Malformation{"Target", [](auto& c) { c.target = Target::Parse("cuda/sm_90a").value(); },
                     ErrorCode::kUnimplemented, "compile.target"},
        Malformation{"UnknownGraph", [](auto& c) { c.graph.clear(); },
                     ErrorCode::kFailedPrecondition, "compile.graph_digest"},
        Malformation{"NoGraph", [](auto& c) { c.graph = "nonsense"; }, ErrorCode::kInvalidArgument,
                     "compile.graph"},
        Malformation{"TruncatedGraph", [](auto& c) { c.graph.pop_back(); }, ErrorCode::kDataLoss,
                     "compile.graph"},
        Malformation{"OtherGraph",
                     [](auto& c) { c.graph = EncodeGraph(FakeGraph(Behaviour::kGood, 7)); },
                     ErrorCode::kFailedPrecondition, "compile.request_key"},
        Malformation{"OtherKey", [](auto& c) { c.request_key = Sha256Of("x"); },
                     ErrorCode::kFailedPrecondition, "compile.request_key"},
        Malformation{
            "NumericsThatNothingReads",
            [](auto& c) {
              c.options.numerics = Numerics::kMedium;
              c.request_key =
                  KeyOf(c.graph_digest, c.signature, c.target, c.options, c.compiler_epoch).digest;
            },
            ErrorCode::kInvalidArgument, "options.numerics"},
        Malformation{"OtherOptions", [](auto& c) { c.options.numerics = Numerics::kMedium; },
                     ErrorCode::kFailedPrecondition, "compile.request_key"}),
    [](const auto& row) { return row.param.name; });

struct Failure {
  std::string name;
  Behaviour behaviour;
  ErrorCode code;
  std::string said;
};

class CompileServiceFailure : public CompileServiceTest,
                              public testing::WithParamInterface<Failure> {};

TEST_P(CompileServiceFailure, Compile_CostsThisRequestAlone_AndIsNotRemembered) {
  ServiceConfig config = Config();
  config.worker.max_workers = 2;
  Start(config);
  auto bad = StartCompile(GetParam().behaviour);
  auto good = StartCompile(Behaviour::kGood);
  const Outcome failed = bad.get();
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->code, GetParam().code) << failed.error->message;
  EXPECT_THAT(failed.error->message, HasSubstr(GetParam().said));
  EXPECT_TRUE(good.get().bundle);
  EXPECT_EQ(statistics_->Total("compile_failures"), 1);
  EXPECT_EQ(statistics_->Total("compiles"), 1);
  EXPECT_THAT(Warnings(), Contains(AllOf(HasSubstr("fails"), HasSubstr(GetParam().said))));
  EXPECT_TRUE(std::holds_alternative<wire::Miss>(Lookup(FakeCall(GetParam().behaviour))));
  const int tried = CompilesOf(GetParam().behaviour);
  EXPECT_TRUE(Compile(GetParam().behaviour).error);
  EXPECT_GT(CompilesOf(GetParam().behaviour), tried);
  EXPECT_EQ(service_->jobs(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CompileServiceFailure,
    testing::Values(
        Failure{"Error", Behaviour::kError, ErrorCode::kUnimplemented, "Op 'x'"},
        Failure{"Throw", Behaviour::kThrow, ErrorCode::kInternal, "thrown in the compiler"},
        Failure{"Crash", Behaviour::kCrash, ErrorCode::kInternal, "ended with status 139"},
        Failure{"Nonsense", Behaviour::kNonsense, ErrorCode::kInternal, "signal 9 (Killed)"},
        Failure{"Foreign", Behaviour::kForeign, ErrorCode::kInternal, "artifact of request"},
        Failure{"Incomplete", Behaviour::kIncomplete, ErrorCode::kInternal, "did not deliver"}),
    [](const auto& row) { return row.param.name; });

TEST_F(CompileServiceTest, Compile_BeyondItsTime_CostsThisRequestAlone) {
  ServiceConfig config = Config();
  config.worker.max_workers = 2;
  config.worker.time_limit = 1s;
  Start(config);
  const Outcome failed = Compile(Behaviour::kHang);
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->code, ErrorCode::kDeadlineExceeded) << failed.error->message;
  EXPECT_EQ(statistics_->Total("compile_failures"), 1);
  EXPECT_THAT(Warnings(), Contains(AllOf(HasSubstr("fails"), HasSubstr("limit of 1 s"))));
  EXPECT_TRUE(std::holds_alternative<wire::Miss>(Lookup(FakeCall(Behaviour::kHang))));
  EXPECT_EQ(service_->jobs(), 0);
  // The limit is everybody's, which a busy machine may not keep at once.
  WaitUntil("another is served", [this] { return Compile(Behaviour::kGood).bundle.has_value(); });
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
TEST_F(CompileServiceTest, Compile_MemoryBomb_CostsThisRequestAlone) {
  ServiceConfig config = Config();
  config.worker.max_workers = 2;
  config.worker.program.memory_limit_mib = kBombLimitMib;
  Start(config);
  auto bomb = StartCompile(Behaviour::kMemory);
  EXPECT_TRUE(Compile(Behaviour::kGood).bundle);
  const Outcome outcome = bomb.get();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(outcome.error->message, HasSubstr(std::to_string(kBombLimitMib) + " MiB"));
}
#endif

TEST_F(CompileServiceTest, Compile_ManyReports_ReachTheEnd) {
  Start();
  EXPECT_TRUE(Compile(Behaviour::kManyReports).bundle);
}

TEST_F(CompileServiceTest, Compile_QueueIsFull_IsUnavailable_JoiningIsNot) {
  ServiceConfig config = Config();
  config.queue_limit = 2;
  Start(config);
  auto running = StartCompile(Behaviour::kWait, 0);
  auto waiting = StartCompile(Behaviour::kWait, 1);
  WaitUntil("both are let in", [this] { return service_->jobs() == 2; });
  const Outcome refused = Compile(Behaviour::kWait, 2);
  ASSERT_FALSE(refused.returned.ok());
  EXPECT_EQ(refused.returned.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.returned.error().message, HasSubstr("queue is full: 2"));
  auto joined = StartCompile(Behaviour::kWait, 1);
  ReleaseWaiting();
  EXPECT_TRUE(running.get().bundle);
  EXPECT_TRUE(waiting.get().bundle);
  EXPECT_TRUE(joined.get().bundle);
  EXPECT_TRUE(Compile(Behaviour::kWait, 2).bundle);
}

TEST_F(CompileServiceTest, Drain_RefusesNewOnes_FinishesAndStoresTheRunning) {
  Start();
  auto running = StartCompile(Behaviour::kWait);
  WaitForCompiles(Behaviour::kWait, 0, 1);
  service_->Drain();
  const Outcome refused = Compile(Behaviour::kGood);
  ASSERT_FALSE(refused.returned.ok());
  EXPECT_EQ(refused.returned.error().code, ErrorCode::kUnavailable);
  ReleaseWaiting();
  EXPECT_TRUE(running.get().bundle);
  // Looking up goes on.
  EXPECT_TRUE(std::holds_alternative<wire::Bundle>(Lookup(FakeCall(Behaviour::kWait))));
}

TEST_F(CompileServiceTest, Compile_ClientGoesAway_TheArtifactIsStoredAllTheSame) {
  Start();
  const CompileService::Send gone = [](const wire::CompileEvent&) -> asio::awaitable<Status> {
    co_return Unavailable("The client is gone.");
  };
  const wire::CompileCall call = FakeCall(Behaviour::kWait);
  const auto ask = [&]() -> asio::awaitable<Status> { return service_->Compile(call, gone); };
  EXPECT_FALSE(coroutines_.Run(ask()).ok());  // At the first progress.
  EXPECT_EQ(service_->jobs(), 1);
  ReleaseWaiting();
  WaitUntil("the job has ended", [this] { return service_->jobs() == 0; });
  EXPECT_TRUE(std::holds_alternative<wire::Bundle>(Lookup(call)));
}

TEST_F(CompileServiceTest, Compile_CacheIsFull_TheClientGetsItsArtifact) {
  StackConfig tiny;
  tiny.memory_bytes = 16;
  OpenStack(tiny);
  Start();
  const Outcome outcome = Compile(Behaviour::kGood);
  ASSERT_TRUE(outcome.bundle);
  EXPECT_THAT(outcome.bundle->blobs, SizeIs(3));
  EXPECT_EQ(statistics_->Total("publish_failures"), 1);
  EXPECT_THAT(Warnings(), Contains(HasSubstr("storing")));
}

TEST_F(CompileServiceTest, Lookup_Damaged_IsAMissWithThatReason_AndIsMadeAgain) {
  Start();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const Outcome made = Compile(call);
  ASSERT_TRUE(made.bundle);
  ASSERT_TRUE(stack_->blobs().Quarantine(made.bundle->blobs[0].digest, "test").ok());
  const auto answer = Lookup(call);
  ASSERT_TRUE(std::holds_alternative<wire::Miss>(answer));
  EXPECT_THAT(std::get<wire::Miss>(answer).reason, HasSubstr("damaged or evicted"));
  EXPECT_EQ(statistics_->Total("misses.reason.damaged or evicted"), 1);
  const Outcome again = Compile(call);
  ASSERT_TRUE(again.bundle);
  EXPECT_EQ(again.bundle->artifact, made.bundle->artifact);
  EXPECT_TRUE(std::holds_alternative<wire::Bundle>(Lookup(call)));
}

TEST_F(CompileServiceTest, Lookup_ReservedNamespace_IsRefused) {
  Start();
  wire::LookupRequest lookup;
  lookup.ns = kKernelNamespace;
  const auto answer = coroutines_.Run(service_->Lookup(lookup));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(wire::ErrorReplyOf(answer.error()).field, "lookup.namespace");
}

TEST_F(CompileServiceTest, List_ShowsHowOftenEachWasFound) {
  Start();
  ASSERT_TRUE(Compile(Behaviour::kGood, 0).bundle);
  ASSERT_TRUE(Compile(Behaviour::kGood, 1).bundle);
  Lookup(FakeCall(Behaviour::kGood, 1));
  Lookup(FakeCall(Behaviour::kGood, 1));
  std::map<std::string, std::uint64_t> hits;
  const auto list = coroutines_.Run(service_->List({}));
  for (const auto& entry : list->entries) {
    hits[entry.label] = entry.hits;
  }
  EXPECT_THAT(hits, UnorderedElementsAre(Pair("fake 0", 0), Pair("fake 1", 2)));
}

TEST_F(CompileServiceTest, Inspect_ListsTheSectionsAskedFor_OrAll) {
  Start();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  ASSERT_TRUE(Compile(call).bundle);
  wire::InspectRequest request;
  request.key_prefix = call.request_key.ToHex().substr(0, 8);
  EXPECT_THAT(coroutines_.Run(service_->Inspect(request))->sections, SizeIs(6));
  request.sections = {"asm"};
  const auto one = coroutines_.Run(service_->Inspect(request));
  ASSERT_THAT(one->sections, SizeIs(1));
  EXPECT_EQ(one->sections[0].text, "text of asm");
  request.key_prefix = "0000";
  EXPECT_EQ(coroutines_.Run(service_->Inspect(request)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(service_->jobs(), 0);
}

TEST_F(CompileServiceTest, Report_IsCounted) {
  Start();
  service_->Report({"default",
                    {{"artifacts_refused", 2}, {"prepared.found", 4}, {"prepared.other", 5}},
                    {{"aten.foo", 3}}});
  EXPECT_EQ(statistics_->Total("client.artifacts_refused"), 2);
  EXPECT_EQ(statistics_->Total("prepared.found"), 4);
  EXPECT_EQ(statistics_->Total("client.prepared.found"), 0);
  EXPECT_EQ(statistics_->Total("client.prepared.other"), 5);
  EXPECT_EQ(statistics_->Total("fallback_ops.aten.foo"), 3);
}

}  // namespace
}  // namespace stoker
