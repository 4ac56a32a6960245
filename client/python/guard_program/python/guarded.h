#pragma once

#include <exception>
#include <new>

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// No C++ exception passes into Python.
template <typename Body>
PyObject* Guarded(Body body) {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace stoker::guards
