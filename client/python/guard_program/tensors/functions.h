// What Python is given about many tensors at once.
#pragma once

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// Functions of the extension module: see their texts in module.cc.
PyObject* LearnTensors(PyObject*, PyObject* words);
PyObject* AddressesOf(PyObject*, PyObject* words);
PyObject* LieAt(PyObject*, PyObject* words);
PyObject* PointersOf(PyObject*, PyObject* words);
PyObject* Know(PyObject*, PyObject* words);
PyObject* Put(PyObject*, PyObject* words);

}  // namespace stoker::guards
