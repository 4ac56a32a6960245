#include "client/python/guard_program/python/types.h"

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {
namespace {

PyTypeObject* FindType(const char* name) {
  const Reference module = OrThrow(PyImport_ImportModule("types"));
  return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(module.get(), name));
}

}  // namespace

bool IsFunction(PyObject* value) {
  static PyTypeObject* const kFunction = FindType("FunctionType");
  return Py_TYPE(value) == kFunction;
}

bool IsCell(PyObject* value) {
  static PyTypeObject* const kCell = FindType("CellType");
  return Py_TYPE(value) == kCell;
}

bool IsCode(PyObject* value) {
  static PyTypeObject* const kCode = FindType("CodeType");
  return Py_TYPE(value) == kCode;
}

bool IsMethod(PyObject* value) {
  static PyTypeObject* const kSlotWrapper = FindType("WrapperDescriptorType");
  return IsFunction(value) || Py_TYPE(value) == kSlotWrapper;
}

}  // namespace stoker::guards
