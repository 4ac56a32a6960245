#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/python/guard_program/paths.h"
#include "client/python/guard_program/tensors/tensors.h"

namespace stoker::guards {

enum class Kind {
  kAsk,  // Known to the reference alone.
  kSame,
  kIs,
  kType,
  kEquals,
  kTensor,
  kLength,
  kKeys,
  kContains,
  kLacks,
  kHasAttribute,
  kHasNoAttribute,
  kOwnLacks,
  kDynamic,
};

// What a tensor must be; sizes and strides are tuples with None where any will do.
struct TensorFacts {
  Reference dtype, device, requires_grad, size, stride, keys;
  // Of a tensor that was all this: any device of a type will do for the first, no other later.
  Reference seen_device;
  std::optional<Metadata> seen;
};

// Where PyTorch marks dims of a tensor that vary.
constexpr char kDynamicIndices[] = "_dynamo_dynamic_indices";

struct Guard {
  Kind kind = Kind::kAsk;
  int place = 0;
  int other = kNoNode;  // kSame.
  long length = 0;      // kLength.
  int proof = -1;  // kIs, kType, kEquals: index of what it found; of kType, guards with its words.
  int words = -1;  // kIs: index of what the first guard with its words found.
  Reference expected;
  std::optional<TensorFacts> tensor;
};

// An object that a guard accepted. A function is not kept alive by that: what its cells hold may
// be a model.
class Proof {
 public:
  void Set(PyObject* object);
  bool Is(PyObject* object) const;
  bool known() const { return static_cast<bool>(held_); }
  PyObject* held() const { return held_.get(); }

 private:
  Reference held_;  // The object, or a weak reference to it.
  bool is_weak_ = false;
};

// Do two guards ask the same of one value? A "no" may be wrong.
bool AskTheSame(const Guard& left, const Guard& right);

// What the checks call.
struct Callables {
  Reference ask;            // (number of a guard, value) -> bool: the reference, checks.matches().
  Reference dispatch_keys;  // torch._C._dispatch_keys
  Reference constants;      // Types of constants besides Python's: see IsImmutable().
  Reference tensor;         // torch.Tensor
};

// The guards of a capture. A native check that passes proves its guard; whatever it cannot prove it
// asks the reference, so that no check fails which the reference would pass. Objects that the
// reference accepted are kept, and accepted by identity from then on where they cannot change.
class Checks {
 public:
  // `record` as in a capture: [[node, kind, expected, where]]. `decode`: a function of an encoded
  // value; `constants`: a dictionary of dtypes by name. Throws PythonError where the record is
  // malformed.
  Checks(PyObject* record, std::size_t nodes, PyObject* decode, PyObject* constants,
         Callables callables);

  const std::vector<Guard>& guards() const { return guards_; }

  // Does guard `number` hold? Throws PythonError for what is no Exception.
  bool Holds(std::size_t number, Values& values);
  // With its values at other places.
  bool Holds(std::size_t number, Values& values, int place, int other);

  // Does it hold, as far as can be told at once? A "no" may be wrong.
  bool HoldsAtOnce(std::size_t number, PyObject* value) const;
  void Prefetch(std::size_t number) const;

  std::int64_t asked() const { return asked_; }

  int Visit(visitproc visit, void* context) const;

 private:
  // What a guard of another kind than kSame expects, read from the record's word for it.
  // `same_words`: kind and words -> index of the proof.
  void ReadExpected(Guard& guard, PyObject* expected, PyObject* decode, PyObject* constants,
                    PyObject* same_words);
  int NewProof();
  // Of guards with the same words.
  int ProofOf(Kind kind, PyObject* expected, PyObject* same_words);

  // `other`: of kSame.
  bool Proves(Guard& guard, PyObject* value, PyObject* other);
  bool ProvesIdentity(const Guard& guard, PyObject* value);
  bool Ask(std::size_t number, PyObject* value);
  bool ProvesTensor(TensorFacts& facts, PyObject* value);
  bool AsksTensor(TensorFacts& facts, PyObject* value);
  bool IsElsewhere(const Guard& guard, PyObject* value);

  std::vector<Guard> guards_;
  std::vector<Proof> proofs_;
  Callables callables_;
  Reference dtype_, shape_, stride_, requires_grad_, device_, type_, raw_repr_, dynamic_, own_;
  std::int64_t asked_ = 0;
};

// The attribute, or null without an error where there is none; null with an error otherwise.
Reference FindAttribute(PyObject* value, PyObject* name);

// Equal in type and value, of types that never change: a proof of sameness for constants.
bool SameConstant(PyObject* left, PyObject* right);

// Can nothing change this value? Numbers, texts, bytes, None, what is exactly of one of `types` (a
// tuple), and tuples of these.
bool IsImmutable(PyObject* value, PyObject* types);

}  // namespace stoker::guards
