"""Extensions of a program's own, for test_compiled_code.py: classes whose truth, and whose module, they say, are what they were
compiled with."""

# What a module does with those of extension_NUMBER that say where they are from.
OF_A_KIND = """
import extension_NUMBER


class OfItsKindNUMBER(metaclass=extension_NUMBER.Kind):
    pass


class BelowNUMBER(extension_NUMBER.Made):
    pass


MADE_NUMBER, BELOW_NUMBER = extension_NUMBER.Made(5.5), BelowNUMBER(5.5)


def of_a_metaclass_NUMBER(x):
    return x * (2 if OfItsKindNUMBER else 3)


def of_a_made_class_NUMBER(x):
    return x * (2 if MADE_NUMBER else 3)


def of_a_class_below_it_NUMBER(x):
    return x * (2 if BELOW_NUMBER else 3)
"""

SOURCE = r"""
#include <Python.h>

#define JOINED(first, second) first##second
#define INIT(name) JOINED(PyInit_, name)
#define QUOTED(name) #name
#define TEXT(name) QUOTED(name)

static int IsTrue(PyObject* self) {
  (void)self;
  return TRUTH;
}
static PyObject* Nothing(PyObject* self, PyObject* arguments) {
  (void)self, (void)arguments;
  Py_RETURN_NONE;
}

static PyNumberMethods kNumber = {.nb_bool = IsTrue};
static PyMethodDef kMethods[] = {{"first", Nothing, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject kWhole = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "extension.Whole",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_as_number = &kNumber,
};
static PyTypeObject kNamed = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "Named",  // Of no module, it says.
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_methods = kMethods,
};
static PyTypeObject kKind = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = KIND,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_as_number = &kNumber,
};
static char kSpace[1 << 16];  // A class behind it lies in memory that no part of the file is mapped to.
static PyTypeObject kZeros;
static PyObject* Truth(PyObject* self, PyObject* arguments) {
  (void)self, (void)arguments;
  return PyBool_FromLong(TRUTH);
}
static PyMethodDef kTruth = {"__bool__", Truth, METH_NOARGS, NULL};

// A number of its own, made where `type` lies.
static int Fill(PyTypeObject* type, const char* name) {
  *type = (PyTypeObject){
      PyVarObject_HEAD_INIT(NULL, 0).tp_name = name, .tp_flags = Py_TPFLAGS_DEFAULT, .tp_base = &PyLong_Type,
      .tp_as_number = &kNumber};
  return PyType_Ready(type);
}
// Puts a method into a class that Python made.
static PyObject* Install(PyObject* self, PyObject* type) {
  (void)self;
  PyObject* method = PyDescr_NewMethod((PyTypeObject*)type, &kTruth);
  return method != NULL && PyObject_SetAttrString(type, "__bool__", method) == 0 ? PyLong_FromLong(kSpace[0]) : NULL;
}
static PyMethodDef kFunctions[] = {{"install", Install, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot kSlots[] = {{Py_nb_bool, (void*)IsTrue}, {0, NULL}};
static PyType_Spec kMade = {
    .name = KIND, .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = kSlots};
static PyModuleDef kModule = {PyModuleDef_HEAD_INIT, .m_name = TEXT(NAME), .m_size = -1, .m_methods = kFunctions};

PyMODINIT_FUNC INIT(NAME)(void) {
  PyObject* module = PyModule_Create(&kModule);
  kWhole.tp_base = &PyLong_Type;
  kKind.tp_base = &PyType_Type;
  if (module == NULL || PyType_Ready(&kWhole) < 0 || PyType_Ready(&kNamed) < 0 || PyType_Ready(&kKind) < 0) return NULL;
  PyTypeObject* elsewhere = calloc(1, sizeof *elsewhere);
  if (Fill(&kZeros, "extension.Zeros") < 0 || elsewhere == NULL || Fill(elsewhere, "extension.Elsewhere") < 0) return NULL;
  if (PyModule_AddObjectRef(module, "Zeros", (PyObject*)&kZeros) < 0) return NULL;
  if (PyModule_AddObjectRef(module, "Elsewhere", (PyObject*)elsewhere) < 0) return NULL;
  PyObject* made = PyType_FromSpecWithBases(&kMade, (PyObject*)&PyFloat_Type);
  if (made == NULL || PyModule_AddObjectRef(module, "Made", made) < 0) return NULL;
  if (PyModule_AddObjectRef(module, "Kind", (PyObject*)&kKind) < 0) return NULL;
  if (PyModule_AddObjectRef(module, "Whole", (PyObject*)&kWhole) < 0) return NULL;
  if (PyModule_AddObjectRef(module, "Named", (PyObject*)&kNamed) < 0) return NULL;
  return module;
}
"""
