#include "client/python/guard_program/python/dictionaries.h"

#include <dlfcn.h>

#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/python/guard_program/python/layout.h"
#include "client/python/guard_program/python/probe.h"

namespace stoker::guards {
namespace {

// ---- numbers that CPython keeps in dictionaries

constexpr long kDictionarySize = 48;
constexpr std::ptrdiff_t kNumber = 24;  // After reference count, type, number of items.

// Do dictionaries get a number that is greater than all before, when made and with every change?
bool NumbersRise() {
  const Reference first = OrThrow(PyDict_New()), key = OrThrow(PyUnicode_FromString("key"));
  std::uint64_t last = WordAt(first.get(), kNumber);
  const auto has_risen = [&](const Reference& dictionary) {
    const std::uint64_t before = std::exchange(last, WordAt(dictionary.get(), kNumber));
    return last > before;
  };
  const Reference second = OrThrow(PyDict_New());
  if (!has_risen(second)) return false;
  for (PyObject* value : {Py_None, Py_True}) {
    if (PyDict_SetItem(first.get(), key.get(), value) < 0) throw PythonError();
    if (!has_risen(first)) return false;
  }
  if (PyDict_Update(second.get(), first.get()) < 0) throw PythonError();
  if (!has_risen(second)) return false;
  if (PyDict_DelItem(first.get(), key.get()) < 0) throw PythonError();
  if (!has_risen(first)) return false;
  PyDict_Clear(second.get());
  return has_risen(second) && has_risen(OrThrow(PyDict_Copy(first.get())));
}

bool AreInside() {
  const unsigned long version = Py_Version >> 16;
  if (version != 0x030B && version != 0x030C) return false;
  const Reference size =
      OrThrow(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "__basicsize__"));
  return PyLong_AsLong(size.get()) == kDictionarySize && NumbersRise();
}

// ---- numbers that are kept here

// Numbers of dictionaries that CPython reports about.
class Reported {
 public:
  // Null where it does not.
  static Reported* Begin() {
    const auto add = Find<int (*)(Callback)>("PyDict_AddWatcher");
    const auto watch = Find<int (*)(int, PyObject*)>("PyDict_Watch");
    const auto unwatch = Find<int (*)(int, PyObject*)>("PyDict_Unwatch");
    if (add == nullptr || watch == nullptr || unwatch == nullptr) return nullptr;
    const int watcher = add(&OnEvent);  // There are a few in a process.
    if (watcher < 0) throw PythonError();
    g_reported = new Reported(watcher, watch, unwatch);  // CPython may report until the end.
    return g_reported->AreReported() ? g_reported : nullptr;
  }

  std::uint64_t highest() const { return highest_; }
  const void* NumberAt(std::size_t place) const { return &numbers_[place]; }

  std::size_t Use(PyObject* dictionary) {
    if (const auto known = places_.find(dictionary); known != places_.end()) {
      ++users_[known->second].count;
      return known->second;
    }
    if (watch_(watcher_, dictionary) < 0) throw PythonError();
    if (free_.empty()) {
      free_.push_back(numbers_.size());
      numbers_.push_back(0);
      users_.emplace_back();
      free_.reserve(numbers_.size());  // So that Leave() allocates nothing.
    }
    const std::size_t place = free_.back();
    places_.emplace(dictionary, place);
    free_.pop_back();
    numbers_[place] = kFirst;
    users_[place] = {dictionary, 1};
    return place;
  }

  void Leave(std::size_t place) {
    User& user = users_[place];
    if (--user.count > 0) return;
    if (user.dictionary != nullptr) {
      if (unwatch_(watcher_, user.dictionary) < 0) PyErr_Clear();
      places_.erase(user.dictionary);
    }
    free_.push_back(place);
  }

 private:
  using Callback = int (*)(int event, PyObject* dictionary, PyObject* key, PyObject* value);
  struct User {
    PyObject* dictionary = nullptr;  // Null: it is gone.
    std::size_t count = 0;
  };
  static constexpr int kGone = 5;  // PyDict_EVENT_DEALLOCATED.
  // Of a dictionary that did not change since it is used.
  static constexpr std::uint64_t kFirst = 1;

  Reported(int watcher, int (*watch)(int, PyObject*), int (*unwatch)(int, PyObject*))
      : watcher_(watcher), watch_(watch), unwatch_(unwatch) {}

  template <typename Function>
  static Function Find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }

  // CPython calls it before the change, and runs nothing of the program in between.
  static int OnEvent(int event, PyObject* dictionary, PyObject*, PyObject*) {
    Reported& self = *g_reported;
    const auto known = self.places_.find(dictionary);
    if (known == self.places_.end()) return 0;
    const std::size_t place = known->second;
    self.numbers_[place] = ++self.highest_;
    if (event == kGone) {
      self.users_[place].dictionary = nullptr;
      self.places_.erase(known);
    }
    return 0;
  }

  // Of every kind of change, and of the end?
  bool AreReported() {
    for (const bool is_own : {false, true}) {
      // An object's attributes may lie in the object, with its dictionary beside them.
      Reference owner =
          MakeProbe("class Probe:\n  def __init__(self): self.x, self.y = 1, 2\nprobe = Probe()\n");
      Reference dictionary =
          OrThrow(is_own ? PyObject_GenericGetDict(owner.get(), nullptr) : PyDict_New());
      const std::size_t place = Use(dictionary.get());
      const bool all = AreChangesReported(place, dictionary.get(), is_own ? owner.get() : nullptr);
      owner = dictionary = Reference();
      const bool is_gone = users_[place].dictionary == nullptr && numbers_[place] == highest_;
      Leave(place);
      if (!all || !is_gone) return false;
    }
    return true;
  }

  bool AreChangesReported(std::size_t place, PyObject* dictionary, PyObject* owner) {
    const auto rises = [&](auto change) {
      const std::uint64_t before = highest_;
      if (change() < 0) throw PythonError();
      return highest_ > before && numbers_[place] == highest_;
    };
    const Reference x = OrThrow(PyUnicode_InternFromString("x"));
    const Reference z = OrThrow(PyUnicode_InternFromString("z"));
    const Reference more = OrThrow(Py_BuildValue("{s:i,s:i}", "x", 3, "new", 4));
    if (owner != nullptr) {
      for (const Reference& name : {x, z, z}) {
        if (!rises([&] { return PyObject_GenericSetAttr(owner, name.get(), more.get()); }) ||
            !rises([&] { return PyObject_GenericSetAttr(owner, name.get(), Py_None); })) {
          return false;
        }
      }
      if (!rises([&] { return PyObject_GenericSetAttr(owner, x.get(), nullptr); })) return false;
    }
    return rises([&] { return PyDict_Update(dictionary, more.get()); }) &&
           rises([&] { return PyDict_SetItem(dictionary, x.get(), Py_True); }) &&
           rises([&] { return PyDict_DelItem(dictionary, x.get()); }) &&
           rises([&] { return PyDict_SetItem(dictionary, x.get(), Py_True); }) &&
           rises([&] { return PyDict_Clear(dictionary), 0; }) &&
           rises([&] { return PyDict_Update(dictionary, more.get()); });
  }

  static Reported* g_reported;

  int watcher_;
  int (*watch_)(int, PyObject*);
  int (*unwatch_)(int, PyObject*);
  std::uint64_t highest_ = kFirst;
  std::deque<std::uint64_t> numbers_;  // Close together, and never elsewhere.
  std::vector<User> users_;
  std::vector<std::size_t> free_;
  std::unordered_map<PyObject*, std::size_t> places_;
};

Reported* Reported::g_reported = nullptr;

struct Source {
  bool inside = false;
  Reported* reported = nullptr;
};

Source FindSource() {
  try {
    if (AreInside()) return {true, nullptr};
    return {false, Py_Version >> 16 > 0x030C ? Reported::Begin() : nullptr};
  } catch (const PythonError&) {
    SwallowException();
    return {};
  }
}

const Source& TheSource() {
  static const Source kSource = FindSource();
  return kSource;
}

}  // namespace

bool DictionaryNumber::AreKnown() { return TheSource().inside || TheSource().reported != nullptr; }

std::uint64_t DictionaryNumber::Highest() {
  if (TheSource().reported != nullptr) return TheSource().reported->highest();
  return WordAt(OrThrow(PyDict_New()).get(), kNumber);
}

DictionaryNumber::DictionaryNumber(PyObject* dictionary) {
  if (Reported* reported = TheSource().reported) {
    place_ = reported->Use(dictionary);
    address_ = reported->NumberAt(place_);
  } else {
    address_ = reinterpret_cast<const char*>(dictionary) + kNumber;
  }
}

DictionaryNumber::DictionaryNumber(DictionaryNumber&& other) noexcept
    : address_(other.address_), place_(std::exchange(other.place_, kInside)) {}

DictionaryNumber::~DictionaryNumber() {
  if (place_ != kInside) TheSource().reported->Leave(place_);
}

}  // namespace stoker::guards
