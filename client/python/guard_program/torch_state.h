#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/python/guard_program/python/python_reference.h"
#include "client/python/guard_program/watch.h"

namespace stoker::guards {

// PyTorch's state outside of a program's objects, as it was when a capture's guards held: of the
// thread that asks and of the process. It is read from PyTorch's libraries: GlobalStateGuard and
// the other functions of torch._C that say the same cost some microseconds each when their code is
// not in the caches.
class TorchState {
 public:
  // Something in a module's dictionary.
  struct Name {
    Reference dictionary, name, value;
  };

  // As it is now. `hooks`: dictionaries that must stay as long as they are. Nothing where PyTorch's
  // libraries do not have what is looked for.
  static std::optional<TorchState> Now(std::vector<Reference> hooks, std::vector<Name> names);

  bool Unchanged() const;

  // The same in two parts: what only PyTorch's libraries know, and what a Watch can see.
  static void Prefetch();
  bool AnswersUnchanged() const;
  void AddTo(Watch& watch) const;

 private:
  TorchState(std::vector<Reference> hooks, std::vector<Name> names);

  std::vector<std::uint64_t> answers_;
  std::vector<Reference> hooks_;
  std::vector<Py_ssize_t> lengths_;  // Of the hooks.
  std::vector<Name> names_;
};

}  // namespace stoker::guards
