#include "daemon/service/worker/worker_main.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "compiler/compile.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

using Clock = std::chrono::steady_clock;

// Blocking frames over the socket. Write is called from every compiling thread.
class FramedSocket {
 public:
  explicit FramedSocket(int fd) : fd_(fd) {}

  // nullopt: the daemon is gone.
  std::optional<std::string> Read() {
    char piece[64 << 10];
    while (true) {
      auto frame = frames_.Next();
      if (!frame.ok()) return std::nullopt;
      if (*frame) return std::move(**frame);
      const ssize_t n = read(fd_, piece, sizeof piece);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::nullopt;
      frames_.Feed({piece, static_cast<std::size_t>(n)});
    }
  }

  void Write(const wire::WorkerEvent& event) { WriteFrame(FrameOf(event)); }

  // Allocates nothing.
  void WriteFrame(std::string_view frame) {
    const std::lock_guard lock(mutex_);
    while (!frame.empty()) {
      const ssize_t n = send(fd_, frame.data(), frame.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(1);
      frame.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  static std::string FrameOf(const wire::WorkerEvent& event) {
    std::string frame;
    wire::AppendFrame(wire::EncodeWorkerEvent(event), &frame);
    return frame;
  }

 private:
  const int fd_;
  wire::FrameReader frames_;
  std::mutex mutex_;
};

// The request that the call stands for. Here, where a stranger's graph costs nobody but its sender,
// its bytes are decoded and verified for the first time.
Result<CompileRequest> RequestOf(wire::CompileCall call) {
  CompileRequest request;
  auto graph = DecodeGraph(call.graph);
  if (!graph.ok()) return graph.error().WithContext("Field 'compile.graph'");
  request.graph = *std::move(graph);
  request.target = std::move(call.target);
  request.options = call.options;
  request.compiler_epoch = std::move(call.compiler_epoch);
  if (Canonical(request.options, request.graph, request.target) != request.options) {
    return InvalidArgument(
        "Field 'options.numerics' is " + std::string(Name(request.options.numerics)) +
        ", which no compile of this graph for " + request.target.ToString() + " reads.");
  }
  if (const Digest key = KeyOf(request).digest; key != call.request_key) {
    return Internal("The graph's request key is " + key.ToHex() + "; the daemon took it for " +
                    call.request_key.ToHex() + ".");
  }
  return request;
}

std::vector<std::optional<KernelRef>> FindKernels(FramedSocket& socket,
                                                  std::span<const Digest> keys) {
  wire::KernelQuery query;
  query.kernel_keys.assign(keys.begin(), keys.end());
  socket.Write(query);
  std::vector<std::optional<KernelRef>> found(keys.size());
  const auto frame = socket.Read();
  if (!frame) _exit(1);
  const auto reply = wire::DecodeWorkerKernelReply(*frame);
  if (!reply.ok()) return found;
  for (std::size_t i = 0; i < std::min(keys.size(), reply->kernels.size()); ++i) {
    const auto& known = reply->kernels[i];
    if (!known.blob.IsZero()) found[i] = KernelRef{known.kernel_key, known.blob, known.size_bytes};
  }
  return found;
}

// The steps of a compile as the daemon gets them. Its threads add to them.
class Steps {
 public:
  explicit Steps(Clock::time_point zero) : zero_(zero) {}

  void Add(CompileSpan step) {
    const auto since_zero = [&](Clock::time_point time) {
      return static_cast<std::uint64_t>(std::max(time - zero_, Clock::duration(0)) /
                                        std::chrono::microseconds(1));
    };
    wire::Span span;
    span.name = std::move(step.name);
    span.detail = step.detail.substr(0, kMaxDetailBytes);
    span.start_us = since_zero(step.begin);
    span.duration_us = since_zero(step.end) - span.start_us;
    span.thread = static_cast<std::uint32_t>(step.thread);
    const std::lock_guard lock(mutex_);
    if (spans_.size() < wire::kMaxSpans) spans_.push_back(std::move(span));
  }
  std::vector<wire::Span> Take() { return std::move(spans_); }

 private:
  static constexpr std::size_t kMaxDetailBytes = 256;

  const Clock::time_point zero_;
  std::mutex mutex_;  // Guards what follows.
  std::vector<wire::Span> spans_;
};

Result<wire::WorkerDone> Serve(FramedSocket& socket, wire::WorkerRequest message,
                               Clock::time_point start) {
  const auto elapsed = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Steps steps(start);
  const SpanSink sink = [&](CompileSpan step) { steps.Add(std::move(step)); };
  sink({"decode", "", 0, start, Clock::now()});
  Laps laps(sink);
  STOKER_TRY(CompileRequest request, RequestOf(std::move(message.call)));
  laps.End("verify");
  wire::WorkerDone done;
  if (!message.inspect_sections.empty()) {
    STOKER_TRY(std::vector<Listing> listings, Inspect(request, message.inspect_sections));
    for (Listing& listing : listings) {
      done.sections.push_back({std::move(listing.name), std::move(listing.text)});
    }
    return done;
  }
  CompileHooks hooks;
  hooks.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  hooks.find_kernels = [&](std::span<const Digest> keys) { return FindKernels(socket, keys); };
  hooks.progress = [&](std::string_view stage, int step, int total, std::string_view detail) {
    socket.Write(wire::Progress{std::string(stage), static_cast<std::uint32_t>(step),
                                static_cast<std::uint32_t>(total), std::string(detail), elapsed()});
  };
  hooks.span = sink;
  STOKER_TRY(CompileOutput output, Compile(request, hooks));
  laps.End("compile");
  done.artifact = EncodeArtifact(output.artifact);
  for (CompiledKernel& kernel : output.kernels) {
    done.kernels.push_back({kernel.key, std::move(kernel.elf)});
  }
  for (std::string& constant : output.constants) {
    const Digest digest = Sha256Of(constant);
    done.constants.push_back({digest, std::move(constant)});
  }
  done.unique_kernels = static_cast<std::uint32_t>(output.artifact.kernels.size());
  done.compile_seconds = elapsed();
  laps.End("encode");
  done.spans = steps.Take();
  return done;
}

Result<wire::WorkerDone> ServeGuarded(FramedSocket& socket, wire::WorkerRequest message,
                                      Clock::time_point start) {
  try {
    return Serve(socket, std::move(message), start);
  } catch (const std::exception& e) {
    return Internal(std::string("The compile throws: ") + e.what());
  }
}

// What every thread does whose allocation fails: LLVM is built without exceptions, so the compile
// cannot be unwound. The process says why and ends. Frame and socket are made before memory is
// short.
FramedSocket* g_out_of_memory_socket = nullptr;
const std::string* g_out_of_memory_frame = nullptr;

[[noreturn]] void EndForWantOfMemory() {
  g_out_of_memory_socket->WriteFrame(*g_out_of_memory_frame);
  _exit(1);
}

void PrepareForWantOfMemory(FramedSocket& socket) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  static const std::string frame = FramedSocket::FrameOf(
      wire::ErrorReplyOf(ResourceExhausted("The compile needs more memory than the limit of " +
                                           std::to_string(limit.rlim_cur >> 20) + " MiB.")));
  g_out_of_memory_socket = &socket;
  g_out_of_memory_frame = &frame;
  std::set_new_handler(EndForWantOfMemory);
}

// What a worker that is ended by a signal leaves on standard error, beside what the library that
// raised it has said: which request it was. Made before, for a handler may not allocate.
constexpr std::size_t kMaxLastWords = 256;
char g_last_words[kMaxLastWords];
std::size_t g_last_words_size = 0;

void SayLastWords(int number) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, g_last_words, g_last_words_size);
  signal(number, SIG_DFL);
  raise(number);
}

void NameRequest(const std::string& request_id) {
  const std::string words =
      "stokerd: a compile worker ends by a signal request=" + request_id + "\n";
  g_last_words_size = words.copy(g_last_words, kMaxLastWords);
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) signal(number, SayLastWords);
}

// Ends the process when the daemon closes the socket while a compile runs.
void WatchDaemon() {
  std::thread([] {
    while (true) {
      pollfd watched{kWorkerSocket, POLLRDHUP, 0};
      if (poll(&watched, 1, -1) < 0 && errno == EINTR) continue;
      _exit(0);
    }
  }).detach();
}

}  // namespace

int RunWorker(const std::vector<std::string>& protections) {
  WatchDaemon();
  FramedSocket socket(kWorkerSocket);
  socket.Write(wire::WorkerReady{protections, CompilableTargetKinds()});
  while (auto frame = socket.Read()) {
    const Clock::time_point start = Clock::now();
    PrepareForWantOfMemory(socket);  // The limit is set by now.
    auto request = wire::DecodeWorkerRequest(*frame);
    frame->clear();
    if (request.ok()) NameRequest(request->request_id);
    const auto done = request.ok() ? ServeGuarded(socket, std::move(*request), start)
                                   : Result<wire::WorkerDone>(request.error());
    if (done.ok()) {
      socket.Write(*done);
    } else {
      socket.Write(wire::ErrorReplyOf(done.error()));
    }
  }
  return 0;
}

}  // namespace stoker
