// stoker.h: compile and run.
#include <cstddef>

#include "client/core/c/c_handles.h"
#include "client/core/execution/content_sample.h"
#include "client/core/execution/host_calls.h"
#include "client/core/execution/loaded_executable.h"

struct stoker_executable {
  std::unique_ptr<stoker::LoadedExecutable> loaded;
};

namespace stoker {
namespace {

// NULL: the cores.
Result<JobDevice*> DeviceNamed(const char* name) {
  return JobDevice::Named(name == nullptr ? "cpu" : name);
}

// Of text that may be NULL or empty: the default.
Result<Numerics> NumericsOf(const char* text) {
  const std::string name = TextOrEmpty(text);
  if (name.empty()) return CompileOptions().numerics;
  return NumericsNamed(name);
}

Result<CompileOptions> OptionsOf(const stoker_compile_options* options) {
  CompileOptions result;
  if (options == nullptr) return result;
  if (options->struct_size < sizeof(stoker_compile_options)) {
    return InvalidArgument("stoker_compile_options.struct_size is " +
                           std::to_string(options->struct_size) + "; at least " +
                           std::to_string(sizeof(stoker_compile_options)) + " is expected.");
  }
  STOKER_TRY(result.numerics, NumericsOf(options->numerics));
  return result;
}

Result<JobDevice*> DeviceOf(const stoker_compile_options* options) {
  return DeviceNamed(options == nullptr ? nullptr : options->device);
}

Result<Target> TargetOf(const stoker_compile_options* options) {
  if (options != nullptr && options->target != nullptr) return Target::Parse(options->target);
  STOKER_TRY(JobDevice* const device, DeviceOf(options));
  return device->device().target();
}

template <typename T>
std::span<const T> SpanOf(const T* data, std::size_t count) {
  return {data, data == nullptr ? 0 : count};
}

// What a C function does.
class ForeignTurns final : public MemoryTurns {
 public:
  ForeignTurns(std::span<const std::int64_t> steps, stoker_turn_fn turn, void* context)
      : steps_(steps), turn_(turn), context_(context) {}

  std::span<const std::int64_t> steps() const override { return steps_; }
  Status At(std::size_t turn) override {
    if (turn_(context_, turn) == 0) return Ok();
    return FailedPrecondition("The caller failed in turn " + std::to_string(turn) +
                              ", before step " + std::to_string(steps_[turn]) + ".");
  }

 private:
  const std::span<const std::int64_t> steps_;
  const stoker_turn_fn turn_;
  void* const context_;
};

Status Finish(const stoker_client& client, JobDevice& device, Obtained obtained,
              std::optional<Graph> verified_against, stoker_executable** executable) {
  STOKER_TRY(auto loaded, LoadedExecutable::Load(device, std::move(obtained),
                                                 std::move(verified_against), client.prepared));
  *executable = new stoker_executable{std::move(loaded)};
  return Ok();
}

}  // namespace
}  // namespace stoker

using namespace stoker;  // NOLINT: this file is the adapter between the two.

extern "C" {

stoker_status* stoker_compile(stoker_client* client, const stoker_graph* graph,
                              const stoker_compile_options* options,
                              stoker_executable** executable) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(graph, "graph"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    STOKER_TRY(const CompileOptions compile_options, OptionsOf(options));
    STOKER_TRY(JobDevice* const device, DeviceOf(options));
    STOKER_TRY(const Target target, TargetOf(options));
    DaemonClient::OnProgress on_progress;
    if (options != nullptr && options->progress != nullptr) {
      on_progress = [options](const wire::Progress& progress) {
        options->progress(options->progress_context, progress.stage.c_str(), progress.done,
                          progress.total, progress.detail.c_str(), progress.elapsed_seconds);
      };
    }
    STOKER_TRY(Obtained obtained,
               client->session.Compile(graph->graph, target, compile_options, on_progress));
    std::optional<Graph> verified_against;
    if (options != nullptr && options->verify != 0) verified_against = graph->graph;
    return Finish(*client, *device, std::move(obtained), std::move(verified_against), executable);
  });
}

stoker_status* stoker_record_request(stoker_client* client, const stoker_graph* graph,
                                     const stoker_compile_options* options) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(graph, "graph"));
    STOKER_TRY(const CompileOptions compile_options, OptionsOf(options));
    STOKER_TRY(const Target target, TargetOf(options));
    return client->session.RecordRequest(graph->graph, target, compile_options);
  });
}

stoker_status* stoker_load(stoker_client* client, const char* request_key_hex, const char* numerics,
                           const char* device, stoker_executable** executable) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(request_key_hex, "request_key_hex"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    STOKER_TRY(const Digest key, Digest::FromHex(request_key_hex));
    STOKER_TRY(const Numerics wished, NumericsOf(numerics));
    STOKER_TRY(JobDevice* const on, DeviceNamed(device));
    STOKER_TRY(Obtained obtained, client->session.Load(key, wished));
    return Finish(*client, *on, std::move(obtained), std::nullopt, executable);
  });
}

void stoker_executable_free(stoker_executable* executable) { delete executable; }

stoker_status* stoker_executable_describe(const stoker_executable* executable, char** json) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    *json = CopyText(executable->loaded->DescribeJson());
    return Ok();
  });
}

void stoker_executable_set_host(stoker_executable* executable, stoker_host_fn call, void* context) {
  if (executable == nullptr) return;
  executable->loaded->SetHost(call == nullptr ? nullptr
                                              : std::make_unique<ForeignHost>(call, context));
}

stoker_status* stoker_executable_record_host_call(stoker_executable* executable, size_t call,
                                                  const void* const* addresses, size_t count,
                                                  const int64_t* sizes, size_t num_sizes,
                                                  stoker_give_fn give, void* context,
                                                  int32_t* is_kept) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(addresses, "addresses"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(is_kept, "is_kept"));
    if (num_sizes != 0) STOKER_RETURN_IF_ERROR(RequireNonNull(sizes, "sizes"));
    if (give == nullptr) return InvalidArgument("Argument 'give' is NULL.");
    STOKER_TRY(const bool kept,
               executable->loaded->RecordHostCall(
                   call, {SpanOf(addresses, count), SpanOf(sizes, num_sizes)},
                   [&](void* stream) -> Status {
                     if (give(context, stream) == 0) return Ok();
                     return FailedPrecondition("The host framework gave nothing to a recording.");
                   }));
    *is_kept = kept ? 1 : 0;
    return Ok();
  });
}

void stoker_executable_forget_host_calls(stoker_executable* executable) {
  if (executable == nullptr || executable->loaded->host() == nullptr) return;
  executable->loaded->host()->Forget();
}

size_t stoker_kept_host_calls() { return ForeignHost::KeptCalls(); }

stoker_status* stoker_processor(char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(text, "text"));
    STOKER_TRY(const Target processor, Target::Host());
    *text = CopyText(processor.ToString());
    return Ok();
  });
}

stoker_status* stoker_device_target(const char* device, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(text, "text"));
    STOKER_TRY(JobDevice* const named, DeviceNamed(device));
    *text = CopyText(named->device().target().ToString());
    return Ok();
  });
}

stoker_status* stoker_device_warm_up(const char* device) {
  return Guarded([&]() -> Status {
    STOKER_TRY(JobDevice* const named, DeviceNamed(device));
    return named->device().WarmUp();
  });
}

void stoker_set_num_threads(int32_t threads) { SetNumThreads(threads); }

stoker_status* stoker_set_device_allocator(stoker_allocate_fn allocate, stoker_free_fn free,
                                           void* context) {
  return Guarded([&]() -> Status {
    if ((allocate == nullptr) != (free == nullptr)) {
      return InvalidArgument("Arguments 'allocate' and 'free' are both NULL, or none is.");
    }
    SetGpuAllocator(allocate == nullptr ? std::nullopt
                                        : std::optional(ForeignAllocator{allocate, free, context}));
    return Ok();
  });
}

uint64_t stoker_sample(const void* const* data, const size_t* sizes, size_t count) {
  return SampleOf(SpanOf(data, count), SpanOf(sizes, count));
}

uint64_t stoker_hash(const void* const* data, const size_t* sizes, size_t count) {
  return WholeHashOf(SpanOf(data, count), SpanOf(sizes, count));
}

stoker_status* stoker_executable_bind(stoker_executable* executable, const void* const* data,
                                      const int64_t* versions, size_t count, void* stream) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    return executable->loaded->Bind(SpanOf(data, count), SpanOf(versions, count), stream);
  });
}

void stoker_executable_unbind(stoker_executable* executable) {
  if (executable != nullptr) executable->loaded->Unbind();
}

int64_t stoker_executable_repairs(const stoker_executable* executable) {
  return executable == nullptr ? 0 : executable->loaded->repairs();
}

stoker_status* stoker_executable_run(stoker_executable* executable, const void* const* inputs,
                                     size_t num_inputs, const int64_t* dims, size_t num_dims,
                                     void* const* outputs, size_t num_outputs, void* stream) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    return executable->loaded->Run(SpanOf(inputs, num_inputs), SpanOf(dims, num_dims),
                                   SpanOf(outputs, num_outputs), stream);
  });
}

stoker_status* stoker_executable_run_in_turns(stoker_executable* executable,
                                              const void* const* inputs, size_t num_inputs,
                                              const int64_t* dims, size_t num_dims,
                                              void* const* outputs, size_t num_outputs,
                                              void* stream, const int64_t* steps, size_t num_turns,
                                              stoker_turn_fn turn, void* context) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    if (num_turns != 0) STOKER_RETURN_IF_ERROR(RequireNonNull(steps, "steps"));
    if (turn == nullptr) return InvalidArgument("Argument 'turn' is NULL.");
    ForeignTurns turns(SpanOf(steps, num_turns), turn, context);
    return executable->loaded->Run(SpanOf(inputs, num_inputs), SpanOf(dims, num_dims),
                                   SpanOf(outputs, num_outputs), stream, &turns);
  });
}

stoker_status* stoker_executable_profile(stoker_executable* executable, const void* const* inputs,
                                         size_t num_inputs, const int64_t* dims, size_t num_dims,
                                         void* const* outputs, size_t num_outputs, void* stream,
                                         char** json) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(executable, "executable"));
    STOKER_TRY(const std::string text,
               executable->loaded->ProfileJson(SpanOf(inputs, num_inputs), SpanOf(dims, num_dims),
                                               SpanOf(outputs, num_outputs), stream));
    *json = CopyText(text);
    return Ok();
  });
}

}  // extern "C"
