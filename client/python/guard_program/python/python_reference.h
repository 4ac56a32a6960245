#pragma once

// What the guard program uses of CPython: the stable ABI of 3.11, so that one build serves every
// later version too.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace stoker::guards {

// Owns one reference, or none. Only with the GIL held.
class Reference {
 public:
  Reference() = default;
  static Reference Steal(PyObject* object) { return Reference(object); }
  static Reference Share(PyObject* object) {
    Py_XINCREF(object);
    return Reference(object);
  }
  Reference(const Reference& other) : object_(other.object_) { Py_XINCREF(object_); }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Reference(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// Thrown where a Python error is set that the caller must see.
struct PythonError {};

inline Reference OrThrow(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return Reference::Steal(object);
}

// f(exception), which raises it again if a signal handler raised it; none until it is
// given.
inline Reference& LetThrough() {
  static auto* const hook = new Reference();  // It outlives the interpreter.
  return *hook;
}

// Clears the error that is set if it is an Exception that the code at hand raised; others, such as
// KeyboardInterrupt and what a signal handler raised meanwhile, go on.
inline void SwallowException() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
  PyObject *kind, *error, *traceback;
  PyErr_Fetch(&kind, &error, &traceback);
  if (traceback != nullptr && LetThrough()) {  // Python code ran.
    PyErr_NormalizeException(&kind, &error, &traceback);
    PyException_SetTraceback(error, traceback);
    Py_XDECREF(PyObject_CallFunctionObjArgs(LetThrough().get(), error, nullptr));
  }
  Py_XDECREF(kind);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  if (PyErr_Occurred()) throw PythonError();
}

// Borrowed; null where the dictionary has no such key.
inline PyObject* FindItem(PyObject* dictionary, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dictionary, key);
  if (found == nullptr && PyErr_Occurred()) throw PythonError();
  return found;
}

inline bool IsExactly(PyObject* object, const PyTypeObject& type) {
  return Py_TYPE(object) == &type;
}

}  // namespace stoker::guards
