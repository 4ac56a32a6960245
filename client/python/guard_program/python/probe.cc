#include "client/python/guard_program/python/probe.h"

namespace stoker::guards {

Reference MakeProbe(const char* text) {
  const Reference globals = OrThrow(PyDict_New()), locals = OrThrow(PyDict_New());
  const Reference builtins = OrThrow(PyImport_ImportModule("builtins"));
  if (PyDict_SetItemString(globals.get(), "__builtins__", builtins.get()) < 0) throw PythonError();
  const Reference code = OrThrow(Py_CompileString(text, "<probe>", Py_file_input));
  OrThrow(PyEval_EvalCode(code.get(), globals.get(), locals.get()));
  return Reference::Share(PyDict_GetItemString(locals.get(), "probe"));
}

}  // namespace stoker::guards
