// The extension module stoker_guards: one type, Program, and functions about tensors.

#include <new>
#include <string>
#include <utility>

#include "client/python/guard_program/files/loaded_files.h"
#include "client/python/guard_program/program.h"
#include "client/python/guard_program/python/every_call.h"
#include "client/python/guard_program/python/guarded.h"
#include "client/python/guard_program/tensors/functions.h"

namespace stoker::guards {
namespace {

struct Object {
  // clang-format off
  PyObject_HEAD
  Program* program;
  // clang-format on
};

// Throws PythonError where garbage collection has taken it.
Program& ProgramOf(PyObject* self) {
  Program* program = reinterpret_cast<Object*>(self)->program;
  if (program == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "The guard program is gone.");
    throw PythonError();
  }
  return *program;
}

// Arguments of Program(): keywords in this order.
constexpr const char* kKeywords[] = {
    "nodes",          "guards",   "distinct",      "decode",
    "steps",          "dtypes",   "ask",           "dispatch_keys",
    "builtins",       "modules",  "global_values", "constants",
    "ordered_dict",   "tensor",   "parameter",     "module",
    "describe_class", "reads_of", "hook_names",    "hook_registrations",
    "watch",          nullptr};

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return Guarded([&]() -> PyObject* {
    Program::Parts parts{};
    PyObject *ask, *dispatch_keys, *modules, *global_values, *constants;
    PyObject *ordered_dict, *tensor, *parameter, *module, *describe_class, *reads_of;
    PyObject *hook_names, *hook_registrations;
    int watch = 1;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "O!O!O!OO!O!OOO!O!O!O!OO!O!O!OOO!O!p",
            const_cast<char**>(kKeywords), &PyList_Type, &parts.nodes, &PyList_Type, &parts.guards,
            &PyList_Type, &parts.distinct, &parts.decode, &PyDict_Type, &parts.steps, &PyDict_Type,
            &parts.dtypes, &ask, &dispatch_keys, &PyDict_Type, &parts.builtins, &PyDict_Type,
            &modules, &PyDict_Type, &global_values, &PyTuple_Type, &constants, &ordered_dict,
            &PyType_Type, &tensor, &PyType_Type, &parameter, &PyType_Type, &module, &describe_class,
            &reads_of, &PyTuple_Type, &hook_names, &PyDict_Type, &hook_registrations, &watch)) {
      return nullptr;
    }
    parts.global_values = Reference::Share(global_values);
    parts.modules = Reference::Share(modules);
    parts.callables = {Reference::Share(ask), Reference::Share(dispatch_keys),
                       Reference::Share(constants), Reference::Share(tensor)};
    parts.classes = {Reference::Share(ordered_dict),      Reference::Share(tensor),
                     Reference::Share(parameter),         Reference::Share(module),
                     Reference::Share(constants),         Reference::Share(describe_class),
                     Reference::Share(reads_of),          Reference::Share(hook_names),
                     Reference::Share(hook_registrations)};
    parts.may_watch = watch != 0;
    auto program = std::make_unique<Program>(std::move(parts));
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* self = allocate(type, 0);
    if (self != nullptr) reinterpret_cast<Object*>(self)->program = program.release();
    return self;
  });
}

int Clear(PyObject* self) {
  delete std::exchange(reinterpret_cast<Object*>(self)->program, nullptr);
  return 0;
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Clear(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Program* program = reinterpret_cast<Object*>(self)->program;
  return program == nullptr ? 0 : program->Visit(visit, arg);
}

PyObject* FirstFailure(PyObject* self, PyObject* local_values) {
  return Guarded([&] { return PyLong_FromLongLong(ProgramOf(self).FirstFailure(local_values)); });
}

// (dictionaries, ((dictionary, name, value), ...)): see TorchState.
PyObject* BindState(PyObject* self, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *dictionaries, *names;
    if (!PyArg_ParseTuple(words, "O!O!", &PyTuple_Type, &dictionaries, &PyTuple_Type, &names)) {
      return nullptr;
    }
    std::vector<Reference> hooks;
    for (Py_ssize_t i = 0; i < PyTuple_Size(dictionaries); ++i) {
      hooks.push_back(Reference::Share(PyTuple_GetItem(dictionaries, i)));
    }
    std::vector<TorchState::Name> found;
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i) {
      PyObject *dictionary, *name, *value;
      if (!PyArg_ParseTuple(PyTuple_GetItem(names, i), "O!UO", &PyDict_Type, &dictionary, &name,
                            &value)) {
        return nullptr;
      }
      found.push_back(
          {Reference::Share(dictionary), Reference::Share(name), Reference::Share(value)});
    }
    return PyBool_FromLong(ProgramOf(self).BindState(std::move(hooks), std::move(found)));
  });
}

PyObject* LearnSignals(PyObject*, PyObject* let_through) {
  LetThrough() = Reference::Share(let_through);
  return Py_NewRef(Py_None);
}

std::string BytesOf(PyObject* words) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(words, &data, &size) < 0) throw PythonError();
  return {data, static_cast<std::size_t>(size)};
}

PyObject* FilesThatMayRegister(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *symbols, *folder, *space;
    if (!PyArg_ParseTuple(words, "O!SS", &PyTuple_Type, &symbols, &folder, &space)) return nullptr;
    std::vector<std::string> asked;
    for (Py_ssize_t i = 0; i < PyTuple_Size(symbols); ++i) {
      asked.push_back(BytesOf(PyTuple_GetItem(symbols, i)));
    }
    const Reference names = OrThrow(PyList_New(0));
    for (const std::string& name :
         LoadedFilesThatMayRegister(asked, BytesOf(folder), BytesOf(space))) {
      const Reference path = OrThrow(PyUnicode_DecodeFSDefault(name.c_str()));
      if (PyList_Append(names.get(), path.get()) < 0) throw PythonError();
    }
    return Py_NewRef(names.get());
  });
}

STOKER_EVERY_CALL PyObject* Holds(PyObject* self, PyObject* local_values) {
  return Guarded([&] { return PyBool_FromLong(ProgramOf(self).Holds(local_values)); });
}

PyObject* Asked(PyObject* self, void*) {
  return Guarded([&] { return PyLong_FromLongLong(ProgramOf(self).asked()); });
}

PyObject* Live(PyObject* self, void*) {
  return Guarded([&]() -> PyObject* {
    const Reference numbers = OrThrow(PyList_New(0));
    for (const std::size_t guard : ProgramOf(self).live()) {
      const Reference number = OrThrow(PyLong_FromSize_t(guard));
      if (PyList_Append(numbers.get(), number.get()) < 0) throw PythonError();
    }
    Py_INCREF(numbers.get());
    return numbers.get();
  });
}

PyObject* IsWatching(PyObject* self, void*) {
  return Guarded([&] { return PyBool_FromLong(ProgramOf(self).is_watching()); });
}

PyMethodDef methods[] = {
    {"first_failure", FirstFailure, METH_O,
     "The number of the first guard that does not hold; their count if distinct nodes are one "
     "object; "
     "-1 if all hold."},
    {"bind_state", BindState, METH_VARARGS,
     "From now on PyTorch's state has to be as it is now; False if that cannot be seen."},
    {"holds", Holds, METH_O, "Do all guards hold? For calls after first_failure() gave -1."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"asked", Asked, nullptr, "How often the reference was asked.", nullptr},
    {"live", Live, nullptr, "Numbers of the guards that the next call checks if nothing changes.",
     nullptr},
    {"is_watching", IsWatching, nullptr, "Are dictionaries watched?", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};

PyType_Spec spec = {"stoker_guards.Program", sizeof(Object), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

PyMethodDef functions[] = {
    {"learn_tensors", LearnTensors, METH_VARARGS,
     "(tensor, its dispatch keys): finds where tensors keep their metadata, or gives False."},
    {"learn_signals", LearnSignals, METH_O,
     "f(exception): raises it again if a signal handler raised it; asked before one is taken for "
     "an answer."},
    {"addresses_of", AddressesOf, METH_VARARGS,
     "(list, places, torch.Tensor): what lie_at() takes, or None where that cannot be seen."},
    {"lie_at", LieAt, METH_VARARGS,
     "(what addresses_of() gave, list): do the tensors at its places of the list lie there?"},
    {"pointers_of", PointersOf, METH_VARARGS,
     "([(place, span, is it written)], torch.Tensor): what know() and put() take, or None where "
     "memory cannot be seen."},
    {"know", Know, METH_VARARGS,
     "(what pointers_of() gave, number, tensor, bytes of an element): tensors that lie like this "
     "one need no look."},
    {"put", Put, METH_VARARGS,
     "(what pointers_of() gave, list of tensors, address): writes where they lie there, and gives "
     "the numbers of those that need a look."},
    {"files_that_may_register", FilesThatMayRegister, METH_VARARGS,
     "((part of a symbol, ...), folder, namespace), in bytes: the loaded files of compiled code "
     "that "
     "ask others for such symbols, lie not below the folder and name the namespace."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "stoker_guards",
                          nullptr,
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace stoker::guards

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_stoker_guards() {
  using namespace stoker::guards;
  const Reference module = Reference::Steal(PyModule_Create(&definition));
  const Reference type = Reference::Steal(PyType_FromSpec(&spec));
  if (!module || !type) return nullptr;
  Py_INCREF(type.get());
  if (PyModule_AddObject(module.get(), "Program", type.get()) < 0) {
    Py_DECREF(type.get());
    return nullptr;
  }
  Py_INCREF(module.get());
  return module.get();
}
