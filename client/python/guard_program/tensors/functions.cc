#include "client/python/guard_program/tensors/functions.h"

#include <memory>
#include <utility>

#include "client/python/guard_program/python/every_call.h"
#include "client/python/guard_program/python/guarded.h"
#include "client/python/guard_program/tensors/addresses.h"
#include "client/python/guard_program/tensors/pointers.h"

namespace stoker::guards {
namespace {

constexpr char kAddresses[] = "stoker_guards.addresses";
constexpr char kPointers[] = "stoker_guards.pointers";

// As a Python object.
template <typename T, const char* kName>
PyObject* Owned(T value) {
  auto owned = std::make_unique<T>(std::move(value));
  PyObject* capsule = PyCapsule_New(owned.get(), kName, [](PyObject* self) {
    delete static_cast<T*>(PyCapsule_GetPointer(self, kName));
  });
  if (capsule != nullptr) owned.release();
  return capsule;
}

}  // namespace

PyObject* LearnTensors(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject* probe;
    unsigned long long keys = 0;
    if (!PyArg_ParseTuple(words, "OK", &probe, &keys)) return nullptr;
    return PyBool_FromLong(TensorLayout::Learn(probe, keys));
  });
}

PyObject* AddressesOf(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *values, *places, *tensor;
    int with_versions;
    if (!PyArg_ParseTuple(words, "O!O!O!p", &PyList_Type, &values, &PyList_Type, &places,
                          &PyType_Type, &tensor, &with_versions)) {
      return nullptr;
    }
    const TensorLayout* layout = TensorLayout::Get();
    if (layout == nullptr || layout->storage_data == 0) Py_RETURN_NONE;
    if (with_versions != 0 && layout->version == 0) Py_RETURN_NONE;
    auto found = Addresses::Of(values, places, reinterpret_cast<PyTypeObject*>(tensor),
                               with_versions != 0, *layout);
    if (!found) Py_RETURN_NONE;
    return Owned<Addresses, kAddresses>(*std::move(found));
  });
}

STOKER_EVERY_CALL PyObject* LieAt(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *capsule, *values;
    if (!PyArg_ParseTuple(words, "OO!", &capsule, &PyList_Type, &values)) return nullptr;
    const auto* addresses =
        static_cast<const Addresses*>(PyCapsule_GetPointer(capsule, kAddresses));
    return addresses == nullptr ? nullptr : PyBool_FromLong(addresses->AreOf(values));
  });
}

PyObject* PointersOf(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *places, *tensor;
    if (!PyArg_ParseTuple(words, "O!O!", &PyList_Type, &places, &PyType_Type, &tensor)) {
      return nullptr;
    }
    const TensorLayout* layout = TensorLayout::Get();
    if (layout == nullptr || layout->storage_bytes == 0) Py_RETURN_NONE;
    Pointers pointers(reinterpret_cast<PyTypeObject*>(tensor), *layout);
    for (Py_ssize_t i = 0; i < PyList_Size(places); ++i) {
      Py_ssize_t place;
      long long span;
      int is_written;
      if (!PyArg_ParseTuple(PyList_GetItem(places, i), "nLp", &place, &span, &is_written)) {
        return nullptr;
      }
      pointers.Add(place, span, is_written != 0);
    }
    return Owned<Pointers, kPointers>(std::move(pointers));
  });
}

PyObject* Know(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *capsule, *tensor;
    Py_ssize_t number;
    long long element;
    if (!PyArg_ParseTuple(words, "OnOL", &capsule, &number, &tensor, &element)) return nullptr;
    auto* pointers = static_cast<Pointers*>(PyCapsule_GetPointer(capsule, kPointers));
    if (pointers == nullptr) return nullptr;
    pointers->Know(number, tensor, element);
    Py_RETURN_NONE;
  });
}

STOKER_EVERY_CALL PyObject* Put(PyObject*, PyObject* words) {
  return Guarded([&]() -> PyObject* {
    PyObject *capsule, *values;
    unsigned long long address;
    if (!PyArg_ParseTuple(words, "OO!K", &capsule, &PyList_Type, &values, &address)) return nullptr;
    const auto* pointers = static_cast<const Pointers*>(PyCapsule_GetPointer(capsule, kPointers));
    if (pointers == nullptr) return nullptr;
    const std::vector<std::size_t> unknown =
        pointers->Put(values, reinterpret_cast<std::uint64_t*>(address));
    Reference numbers = OrThrow(PyTuple_New(static_cast<Py_ssize_t>(unknown.size())));
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      PyObject* number = PyLong_FromSize_t(unknown[i]);
      if (number == nullptr) throw PythonError();
      PyTuple_SetItem(numbers.get(), static_cast<Py_ssize_t>(i), number);
    }
    return Py_NewRef(numbers.get());
  });
}

}  // namespace stoker::guards
