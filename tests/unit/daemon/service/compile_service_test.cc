#include "daemon/service/compile_service.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <mutex>

#include "cache/memory/memory_counter_store.h"
#include "protocol/wire/framing.h"
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

constexpr char kRequestId[] = "request-1";

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
    config.worker.program.variables.emplace_back(kFolderVariable);
    config.worker.program.memory_limit_mib = 512;
    return config;
  }
  CompileService& Start(ServiceConfig config = Config()) {
    const auto write_to = [this](std::vector<std::string>& lines) {
      return [this, &lines](std::string_view message, const LogFields& fields) {
        std::string line(message);
        for (const auto& [name, value] : fields) line += " " + std::string(name) + "=" + value;
        const std::lock_guard lock(mutex_);
        lines.push_back(std::move(line));
      };
    };
    config.log.info = write_to(infos_);
    config.log.warn = write_to(warnings_);
    service_ =
        std::make_unique<CompileService>(coroutines_.io().get_executor(), coroutines_.blocking(),
                                         *stack_, *statistics_, ring_, std::move(config));
    return *service_;
  }

  // Counts in `*reports` what it is told while it waits.
  asio::awaitable<Outcome> Ask(wire::CompileCall call, std::atomic<int>* reports = nullptr) {
    Outcome outcome;
    const CompileService::Send send = [&](std::string_view frame) -> asio::awaitable<Status> {
      const auto event = wire::DecodeCompileEvent(frame.substr(wire::kFrameHeaderBytes)).value();
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
    outcome.returned = co_await service_->Compile(std::move(call), kRequestId, send);
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
    lookup.fields = FieldsOf(call.graph_digest, call.target, call.options, call.compiler_epoch);
    return coroutines_.Run(service_->Lookup(lookup, kRequestId)).value();
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
  std::vector<std::string> infos_;
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
      KeyOf(other.graph_digest, other.target, other.options, other.compiler_epoch).digest;
  const auto answer = Lookup(other);
  ASSERT_TRUE(std::holds_alternative<wire::Miss>(answer));
  EXPECT_TRUE(std::get<wire::Miss>(answer).graph_known);
  other.graph.clear();
  EXPECT_TRUE(Compile(other).bundle);
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 2);
}

TEST_F(CompileServiceTest, Lookup_Probe_SaysWhetherItIsThere_AndCountsNothing) {
  Start();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  wire::LookupRequest probe;
  probe.request_key = call.request_key;
  probe.graph_digest = call.graph_digest;
  probe.probe = true;
  auto answer = coroutines_.Run(service_->Lookup(probe, "request-1")).value();
  ASSERT_TRUE(std::holds_alternative<wire::Miss>(answer));
  EXPECT_FALSE(std::get<wire::Miss>(answer).graph_known);
  EXPECT_THAT(Counted(), IsEmpty());

  ASSERT_TRUE(Compile(call).bundle);
  const Counters counted = Counted();
  answer = coroutines_.Run(service_->Lookup(probe, "request-1")).value();
  ASSERT_TRUE(std::holds_alternative<wire::Bundle>(answer));
  EXPECT_EQ(std::get<wire::Bundle>(answer).source, "memory");
  EXPECT_THAT(std::get<wire::Bundle>(answer).artifact, IsEmpty());
  EXPECT_THAT(std::get<wire::Bundle>(answer).blobs, IsEmpty());
  EXPECT_EQ(Counted(), counted);
}

TEST_F(CompileServiceTest, Lookup_WithRequest_BringsTheCallAndItsGraph) {
  Start();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  ASSERT_TRUE(Compile(call).bundle);
  wire::LookupRequest lookup;
  lookup.request_key = call.request_key;
  EXPECT_THAT(std::get<wire::Bundle>(coroutines_.Run(service_->Lookup(lookup, "request-1")).value())
                  .request,
              IsEmpty());
  lookup.with_request = true;
  const auto answer = coroutines_.Run(service_->Lookup(lookup, "request-1")).value();
  const auto found = wire::DecodeCompileCall(std::get<wire::Bundle>(answer).request);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->request_key, call.request_key);
  EXPECT_EQ(found->graph, call.graph);
  EXPECT_EQ(found->graph_name, call.graph_name);
  EXPECT_EQ(found->target, call.target);
}

TEST_F(CompileServiceTest, Compile_StoreOnly_StoresAndSendsNothing) {
  Start();
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  call.store_only = true;
  for (const std::string source : {"compiled", "memory"}) {
    const Outcome outcome = Compile(call);
    ASSERT_TRUE(outcome.bundle);
    EXPECT_EQ(outcome.bundle->source, source);
    EXPECT_GT(outcome.bundle->compile_seconds, 0);
    EXPECT_THAT(outcome.bundle->artifact, IsEmpty());
    EXPECT_THAT(outcome.bundle->blobs, IsEmpty());
  }
  EXPECT_TRUE(std::holds_alternative<wire::Bundle>(Lookup(call)));
}

TEST_F(CompileServiceTest, Compile_StoreOnly_WithoutRoom_IsAnError) {
  StackConfig tiny;
  tiny.memory_bytes = 16;
  OpenStack(tiny);
  Start();
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  EXPECT_TRUE(Compile(call).bundle);  // Who runs it has what it needs.
  call.store_only = true;
  const Outcome outcome = Compile(call);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(outcome.error->message, HasSubstr("is not stored: "));
}

TEST_F(CompileServiceTest, List_Stale_IsWhatOtherCompilersMade_MostHitsFirst) {
  Start();
  const auto publish = [&](int variant, const std::string& epoch) {
    const wire::CompileCall current = FakeCall(Behaviour::kGood, variant);
    ASSERT_TRUE(Compile(current).bundle);
    if (epoch == current.compiler_epoch) return;
    ActionEntry entry = stack_->actions().Lookup(current.ns, current.request_key).value();
    wire::CompileCall earlier = wire::DecodeCompileCall(entry.metadata).value();
    earlier.compiler_epoch = epoch;
    entry.metadata = wire::EncodeCompileCall(earlier);
    ASSERT_TRUE(stack_->actions()
                    .Publish(current.ns, current.request_key, entry, Durability::kSynced)
                    .ok());
    for (int hit = 0; hit < variant; ++hit) Lookup(current);
  };
  const std::string now = FakeCall(Behaviour::kGood).compiler_epoch;
  publish(1, "fake-0");
  publish(5, "fake-0");
  publish(3, "fake-00");
  publish(9, now);
  wire::ListRequest request;
  request.stale = true;
  const wire::ListReply all = coroutines_.Run(service_->List(request)).value();
  ASSERT_THAT(all.entries, SizeIs(3));
  EXPECT_EQ(all.entries[0].hits, 5U);
  EXPECT_EQ(all.entries[1].hits, 3U);
  EXPECT_EQ(all.entries[2].hits, 1U);
  const auto call = wire::DecodeCompileCall(all.entries[0].request);
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->graph_digest, FakeCall(Behaviour::kGood, 5).graph_digest);
  request.limit = 1;
  EXPECT_THAT(coroutines_.Run(service_->List(request))->entries, SizeIs(1));
  request.ns = "other";
  EXPECT_THAT(coroutines_.Run(service_->List(request))->entries, IsEmpty());
}

// A call for these bytes, with the key that they have.
void SetGraph(wire::CompileCall& call, std::string bytes) {
  call.graph = std::move(bytes);
  call.graph_digest = Sha256Of(call.graph);
  call.request_key =
      KeyOf(call.graph_digest, call.target, call.options, call.compiler_epoch).digest;
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
                     ErrorCode::kFailedPrecondition, "compile.request_key"},
        Malformation{"UnknownGraph", [](auto& c) { c.graph.clear(); },
                     ErrorCode::kFailedPrecondition, "compile.graph_digest"},
        Malformation{"NoGraph", [](auto& c) { c.graph = "nonsense"; }, ErrorCode::kDataLoss,
                     "compile.graph"},
        Malformation{"MalformedGraph", [](auto& c) { SetGraph(c, "nonsense"); },
                     ErrorCode::kInvalidArgument, "compile.graph"},
        Malformation{"MalformedGraphWithoutDigest",
                     [](auto& c) {
                       SetGraph(c, "nonsense");
                       c.graph_digest = Digest();
                     },
                     ErrorCode::kInvalidArgument, "compile.graph"},
        Malformation{"CutGraphWithItsKey",
                     [](auto& c) { SetGraph(c, c.graph.substr(0, c.graph.size() - 1)); },
                     ErrorCode::kDataLoss, "compile.graph"},
        Malformation{"TruncatedGraph", [](auto& c) { c.graph.pop_back(); }, ErrorCode::kDataLoss,
                     "compile.graph"},
        Malformation{"OtherGraph",
                     [](auto& c) { c.graph = EncodeGraph(FakeGraph(Behaviour::kGood, 7)); },
                     ErrorCode::kDataLoss, "compile.graph"},
        Malformation{"OtherGraphWithoutDigest",
                     [](auto& c) {
                       c.graph = EncodeGraph(FakeGraph(Behaviour::kGood, 7));
                       c.graph_digest = Digest();
                     },
                     ErrorCode::kFailedPrecondition, "compile.request_key"},
        Malformation{"OtherKey", [](auto& c) { c.request_key = Sha256Of("x"); },
                     ErrorCode::kFailedPrecondition, "compile.request_key"},
        Malformation{"NumericsThatNothingReads",
                     [](auto& c) {
                       c.options.numerics = Numerics::kMedium;
                       c.request_key =
                           KeyOf(c.graph_digest, c.target, c.options, c.compiler_epoch).digest;
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
  std::string failure_class;
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
  EXPECT_EQ(statistics_->Total("compile_failures.class." + GetParam().failure_class), 1);
  EXPECT_EQ(statistics_->Total("compiles"), 1);
  EXPECT_THAT(Warnings(), Contains(AllOf(HasSubstr("fails"), HasSubstr(GetParam().said),
                                         HasSubstr(" request=request-1"))));
  EXPECT_TRUE(std::holds_alternative<wire::Miss>(Lookup(FakeCall(GetParam().behaviour))));
  const int tried = CompilesOf(GetParam().behaviour);
  EXPECT_TRUE(Compile(GetParam().behaviour).error);
  EXPECT_GT(CompilesOf(GetParam().behaviour), tried);
  EXPECT_EQ(service_->jobs(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CompileServiceFailure,
    testing::Values(Failure{"Throw", Behaviour::kThrow, ErrorCode::kInternal,
                            "thrown in the compiler", "internal"},
                    Failure{"Crash", Behaviour::kCrash, ErrorCode::kInternal,
                            "ended with status 139", "crash"},
                    Failure{"Nonsense", Behaviour::kNonsense, ErrorCode::kInternal,
                            "signal 9 (Killed)", "crash"},
                    Failure{"Foreign", Behaviour::kForeign, ErrorCode::kInternal,
                            "artifact of request", "internal"},
                    Failure{"Incomplete", Behaviour::kIncomplete, ErrorCode::kInternal,
                            "did not deliver", "internal"},
                    Failure{"Smuggles", Behaviour::kSmuggles, ErrorCode::kInternal, "does not name",
                            "internal"}),
    [](const auto& row) { return row.param.name; });

TEST_F(CompileServiceTest, Compile_Diagnostic_IsRemembered_InItsNamespace) {
  Start();
  const Outcome first = Compile(Behaviour::kError);
  ASSERT_TRUE(first.error);
  EXPECT_EQ(first.error->code, ErrorCode::kUnimplemented);
  for (int i = 0; i < 3; ++i) {
    const Outcome again = Compile(Behaviour::kError);
    ASSERT_FALSE(again.returned.ok());  // Before anything is sent.
    EXPECT_EQ(again.returned.error().code, first.error->code);
    EXPECT_EQ(again.returned.error().message, first.error->message);
  }
  EXPECT_EQ(CompilesOf(Behaviour::kError), 1);
  EXPECT_EQ(statistics_->Total("compile_failures"), 1);
  EXPECT_EQ(statistics_->Total("compile_failures.class.diagnostic"), 1);
  EXPECT_EQ(statistics_->Total("diagnostics_served"), 3);
  wire::CompileCall elsewhere = FakeCall(Behaviour::kError);
  elsewhere.ns = "elsewhere";
  EXPECT_TRUE(Compile(elsewhere).error);
  EXPECT_EQ(CompilesOf(Behaviour::kError), 2);
}

// A hundred callers, of whom one is asked for the graph and sends it.
TEST_F(CompileServiceTest, Compile_NobodyHasSentTheGraph_OneIsAsked_AllAreServed) {
  constexpr int kCallers = 100;
  Start();
  const wire::CompileCall whole = FakeCall(Behaviour::kGood);
  wire::CompileCall key_alone = whole;
  key_alone.graph.clear();
  std::atomic<int> graphs_sent{0};
  const auto ask_as_clients_do = [&]() -> asio::awaitable<Outcome> {
    Outcome outcome = co_await Ask(key_alone);
    const Error* asked = nullptr;
    if (!outcome.returned.ok()) asked = &outcome.returned.error();
    if (outcome.error) asked = &*outcome.error;  // Asked later than others.
    if (asked == nullptr) co_return outcome;
    EXPECT_EQ(asked->code, ErrorCode::kFailedPrecondition) << asked->message;
    ++graphs_sent;
    co_return co_await Ask(whole);
  };
  std::vector<std::future<Outcome>> callers;
  for (int i = 0; i < kCallers; ++i) callers.push_back(coroutines_.Start(ask_as_clients_do()));
  std::map<std::string, int> sources;
  for (auto& caller : callers) {
    const Outcome outcome = caller.get();
    ASSERT_TRUE(outcome.bundle);
    ++sources[outcome.bundle->source];
  }
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 1);
  EXPECT_EQ(statistics_->Total("compiles"), 1);
  EXPECT_EQ(sources["compiled"], 1);
  EXPECT_GE(graphs_sent, 1);
  EXPECT_LT(graphs_sent, kCallers / 2);  // More than one only where this takes seconds.
  EXPECT_EQ(service_->jobs(), 0);
}

TEST_F(CompileServiceTest, Compile_QueueIsFull_NobodyIsAskedForAGraph) {
  ServiceConfig config = Config();
  config.queue_limit = 1;
  Start(config);
  auto running = StartCompile(Behaviour::kWait);
  WaitUntil("it is let in", [this] { return service_->jobs() == 1; });
  wire::CompileCall key_alone = FakeCall(Behaviour::kGood);
  key_alone.graph.clear();
  EXPECT_EQ(Compile(key_alone).returned.error().code, ErrorCode::kUnavailable);
  ReleaseWaiting();
  EXPECT_TRUE(running.get().bundle);
  EXPECT_EQ(Compile(key_alone).returned.error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(CompileServiceTest, Compile_LogLinesCarryTheRequest) {
  Start();
  ASSERT_TRUE(Compile(Behaviour::kGood).bundle);
  const std::lock_guard lock(mutex_);
  ASSERT_THAT(infos_, SizeIs(1));
  EXPECT_THAT(infos_[0], AllOf(HasSubstr("compiled request=request-1 namespace=default key="),
                               HasSubstr(" graph=fake 0 seconds=")));
}

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
  const CompileService::Send gone = [](std::string_view) -> asio::awaitable<Status> {
    co_return Unavailable("The client is gone.");
  };
  const wire::CompileCall call = FakeCall(Behaviour::kWait);
  const auto ask = [&]() -> asio::awaitable<Status> {
    return service_->Compile(call, kRequestId, gone);
  };
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
  const auto answer = coroutines_.Run(service_->Lookup(lookup, kRequestId));
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
  EXPECT_THAT(coroutines_.Run(service_->Inspect(request, kRequestId))->sections, SizeIs(7));
  request.sections = {"asm"};
  const auto one = coroutines_.Run(service_->Inspect(request, kRequestId));
  ASSERT_THAT(one->sections, SizeIs(1));
  EXPECT_EQ(one->sections[0].text, "text of asm");
  request.key_prefix = "0000";
  EXPECT_EQ(coroutines_.Run(service_->Inspect(request, kRequestId)).error().code,
            ErrorCode::kNotFound);
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
