#pragma once

#include "client/python/guard_program/python/python_reference.h"

namespace stoker::guards {

// An object made to be looked at: what Python's text defines as `probe`. Throws PythonError.
Reference MakeProbe(const char* text);

}  // namespace stoker::guards
