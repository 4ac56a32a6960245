#include "client/python/guard_program/torch_state.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <stack>
#include <utility>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {
namespace {

enum Library { kC10, kCpu };
enum class Of { kThread, kContext };  // What a function is asked about; kContext: at::Context.

// A function of PyTorch that answers with a number or a flag.
struct Question {
  Library library;
  const char* symbol;
  int bytes;  // Of the answer.
  Of of = Of::kThread;
  int first = 0, second = 0;  // Arguments; the first alone where a thread is asked about.
};

constexpr int kCudaPrecision = 1, kMkldnnPrecision = 2, kMatmul = 3;  // at::Float32Backend and Op.
constexpr const char* kAutocastType = "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE";

// All that GlobalStateGuard looks at, with modes of torch functions, kernels of attention, and what
// products on processors may lose.
// Whether autocast is on, modes of dispatch, transforms of functorch and inference mode are among
// the local keys.
constexpr std::array kQuestions = {
    Question{kC10, "_ZN3c108GradMode10is_enabledEv", 1},
    Question{kC10, "_ZN3c1017get_default_dtypeEv", 2},
    Question{kCpu, "_ZN2at15get_num_threadsEv", 4},
    Question{kCpu, "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv", 4},
    Question{kCpu, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv", 8},
    Question{kCpu, "_ZNK2at7Context23deterministicAlgorithmsEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context19userEnabledFlashSDPEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context26userEnabledMemEfficientSDPEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context18userEnabledMathSDPEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context24allowFP16ReductionCuBLASEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context24allowBF16ReductionCuBLASEv", 1, Of::kContext},
    Question{kCpu, "_ZNK2at7Context16float32PrecisionENS_14Float32BackendENS_9Float32OpE", 4,
             Of::kContext, kCudaPrecision, kMatmul},
    Question{kCpu, "_ZNK2at7Context16float32PrecisionENS_14Float32BackendENS_9Float32OpE", 4,
             Of::kContext, kMkldnnPrecision, kMatmul},
    Question{kCpu, "_ZN2at8autocast25is_autocast_cache_enabledEv", 1},
    // Of at::autocast::_AUTOCAST_SUPPORTED_DEVICES.
    Question{kCpu, kAutocastType, 1, Of::kThread, 0},
    Question{kCpu, kAutocastType, 1, Of::kThread, 1},
    Question{kCpu, kAutocastType, 1, Of::kThread, 8},
    Question{kCpu, kAutocastType, 1, Of::kThread, 9},
    Question{kCpu, kAutocastType, 1, Of::kThread, 12},
    Question{kCpu, kAutocastType, 1, Of::kThread, 13},
    Question{kCpu, kAutocastType, 1, Of::kThread, 15},
    Question{kCpu, kAutocastType, 1, Of::kThread, 18},
    Question{kCpu, kAutocastType, 1, Of::kThread, 19},
    Question{kCpu, kAutocastType, 1, Of::kThread, 20},
};
constexpr std::size_t kOthers = 3;  // Two words of local keys; hooks of saved tensors.
using Answers = std::array<std::uint64_t, kQuestions.size() + kOthers>;

// c10::impl::PODLocalDispatchKeySet.
struct LocalKeys {
  std::uint64_t included, excluded;
};

// The first member of at::impl::SavedTensorDefaultHooksTLS.
struct SafeObject {
  void *object, *interpreter;
};
using SavedTensorHooks = std::stack<std::pair<SafeObject, SafeObject>>;

// The libraries of PyTorch that this process has loaded.
class Libraries {
 public:
  static const Libraries& Get() {
    static const Libraries kLibraries;
    return kLibraries;
  }

  bool are_complete() const { return are_complete_; }

  void Prefetch() const {
    for (const void* code : code_) guards::Prefetch(code, kCodeBytes);
    // Each library keeps what is a thread's in one place.
    guards::Prefetch(LocalKeysHere(), kThreadBytes);
    guards::Prefetch(HooksHere(), kThreadBytes);
    guards::Prefetch(reinterpret_cast<const char*>(context_) + kContextFlags, kContextBytes);
  }

  Answers Read() const {
    Answers answers;
    for (std::size_t i = 0; i < kQuestions.size(); ++i) {
      const Question& question = kQuestions[i];
      const bool of_context = question.of == Of::kContext;
      const std::uint64_t answer =
          of_context ? functions_[i](context_, question.first, question.second)
                     : functions_[i](static_cast<std::uint64_t>(question.first), 0, 0);
      answers[i] = answer & (~std::uint64_t{0} >> (64 - 8 * question.bytes));
    }
    const LocalKeys& keys = *LocalKeysHere();
    answers[kQuestions.size()] = keys.included;
    answers[kQuestions.size() + 1] = keys.excluded;
    answers[kQuestions.size() + 2] = HooksHere()->empty() ? 1 : 0;
    return answers;
  }

 private:
  // In the registers of x86-64's calling convention; a function reads those that it has.
  using Ask = std::uint64_t (*)(std::uint64_t, int, int);
  static constexpr std::size_t kCodeBytes = 128;  // Of most functions.
  static constexpr std::size_t kThreadBytes = 128;
  // Where at::Context has most of its flags.
  static constexpr std::ptrdiff_t kContextFlags = 960;
  static constexpr std::size_t kContextBytes = 256;

  Libraries() {
    libraries_ = {dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD),
                  dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD)};
    if (std::ranges::find(libraries_, nullptr) != libraries_.end()) return;
    for (std::size_t i = 0; i < kQuestions.size(); ++i) {
      functions_[i] =
          reinterpret_cast<Ask>(dlsym(libraries_[kQuestions[i].library], kQuestions[i].symbol));
    }
    const auto context =
        reinterpret_cast<std::uint64_t (*)()>(dlsym(libraries_[kCpu], "_ZN2at13globalContextEv"));
    saved_tensor_hooks_ = reinterpret_cast<const SavedTensorHooks* (*)()>(
        dlsym(libraries_[kCpu], "_ZN2at23SavedTensorDefaultHooks13get_tls_stateEv"));
    are_complete_ = std::ranges::find(functions_, nullptr) == functions_.end() &&
                    context != nullptr && saved_tensor_hooks_ != nullptr &&
                    LocalKeysHere() != nullptr;
    if (!are_complete_) return;
    context_ = context();
    for (const Ask ask : functions_) code_.push_back(reinterpret_cast<const void*>(ask));
    code_.erase(std::ranges::unique(code_).begin(), code_.end());
    if (void* threads = dlsym(libraries_[kCpu], "omp_get_max_threads")) code_.push_back(threads);
  }

  // Of the calling thread.
  const LocalKeys* LocalKeysHere() const {
    thread_local const auto* const kKeys = static_cast<const LocalKeys*>(
        dlsym(libraries_[kC10], "_ZN3c104impl26raw_local_dispatch_key_setE"));
    return kKeys;
  }

  const SavedTensorHooks* HooksHere() const {
    thread_local const SavedTensorHooks* const kHooks = saved_tensor_hooks_();
    return kHooks;
  }

  std::array<void*, 2> libraries_{};
  std::array<Ask, kQuestions.size()> functions_{};
  std::vector<const void*> code_;                              // What runs, to be fetched ahead.
  const SavedTensorHooks* (*saved_tensor_hooks_)() = nullptr;  // A reference, in the library.
  std::uint64_t context_ = 0;                                  // at::Context's address.
  bool are_complete_ = false;
};

}  // namespace

std::optional<TorchState> TorchState::Now(std::vector<Reference> hooks, std::vector<Name> names) {
  if (!Libraries::Get().are_complete()) return std::nullopt;
  return TorchState(std::move(hooks), std::move(names));
}

TorchState::TorchState(std::vector<Reference> hooks, std::vector<Name> names)
    : hooks_(std::move(hooks)), names_(std::move(names)) {
  const Answers now = Libraries::Get().Read();
  answers_.assign(now.begin(), now.end());
  for (const Reference& dictionary : hooks_) lengths_.push_back(PyDict_Size(dictionary.get()));
}

STOKER_EVERY_CALL void TorchState::Prefetch() { Libraries::Get().Prefetch(); }

STOKER_EVERY_CALL bool TorchState::AnswersUnchanged() const {
  return std::ranges::equal(Libraries::Get().Read(), answers_);
}

void TorchState::AddTo(Watch& watch) const {
  for (const Reference& dictionary : hooks_) {
    watch.Keep(dictionary.get());
    watch.AddContent(dictionary.get());
  }
  for (const auto& [dictionary, name, value] : names_) {
    // What it held when this began, or an equal object.
    if (PyObject* found = FindItem(dictionary.get(), name.get())) {
      watch.Keep(found);
      watch.AddName(dictionary.get(), name.get(), found);
    }
  }
}

bool TorchState::Unchanged() const {
  if (!AnswersUnchanged()) return false;
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    if (PyDict_Size(hooks_[i].get()) != lengths_[i]) return false;
  }
  for (const auto& [dictionary, name, value] : names_) {
    PyObject* found = FindItem(dictionary.get(), name.get());
    if (found == value.get()) continue;
    if (found == nullptr || PyObject_RichCompareBool(found, value.get(), Py_EQ) != 1) {
      if (PyErr_Occurred()) SwallowException();
      return false;
    }
  }
  return true;
}

}  // namespace stoker::guards
