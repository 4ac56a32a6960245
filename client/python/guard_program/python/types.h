// Types of Python that the stable ABI has no names for.
#pragma once

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

bool IsFunction(PyObject* value);
bool IsCell(PyObject* value);
bool IsCode(PyObject* value);

// What an instance's own attributes go before, and what a class's own go before in a metaclass.
bool IsMethod(PyObject* value);

}  // namespace stoker::guards
