#include "client/python/guard_program/paths.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/python/guard_program/python/every_call.h"

namespace stoker::guards {
namespace {

// A new reference, null where the key is missing or anything raised.
PyObject* DictItem(PyObject* container, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(container, key);
  Py_XINCREF(found);
  return found;
}

PyObject* Root(PyObject* container, PyObject* name) {
  if (PyDict_CheckExact(container)) return DictItem(container, name);
  return PyObject_GetItem(container, name);
}

// Equal texts are one object, so that looking one up compares addresses.
Reference Interned(PyObject* text) {
  Py_INCREF(text);
  if (IsExactly(text, PyUnicode_Type)) PyUnicode_InternInPlace(&text);
  return Reference::Steal(text);
}

[[noreturn]] void Malformed(const char* what) {
  PyErr_Format(PyExc_ValueError, "A guard program's %s is malformed.", what);
  throw PythonError();
}

int ReadPlace(PyObject* number, std::size_t nodes) {
  const long place = PyLong_AsLong(number);
  if (place == -1 && PyErr_Occurred()) throw PythonError();
  if (place < 0 || static_cast<std::size_t>(place) >= nodes) Malformed("place");
  return static_cast<int>(place);
}

std::string_view Text(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) throw PythonError();
  return {data, static_cast<std::size_t>(size)};
}

void ReadArgument(PyObject* argument, PyObject* decode, std::size_t nodes, Node& node) {
  if (!PyDict_Check(argument)) {
    node.argument = Interned(argument);
    return;
  }
  if (PyObject* place = PyDict_GetItemString(argument, "node")) {
    node.argument_node = ReadPlace(place, nodes);
    return;
  }
  node.argument = Reference::Steal(PyObject_CallFunctionObjArgs(decode, argument, nullptr));
  if (!node.argument) {  // A class or the like that is not there: the node has no value.
    SwallowException();
    node.argument_node = kNoNode;
  }
}

void ReadRoot(std::string_view step, PyObject* argument, PyObject* builtins, Node& node) {
  if (step == "builtins") {
    node.argument = Reference::Share(builtins);
    return;
  }
  if (step == "local") {
    node.step = Step::kLocal;
  } else if (step == "global") {
    node.step = Step::kGlobal;
  } else if (step == "module") {
    node.step = Step::kModule;
  } else {
    Malformed("root");
  }
  node.argument = Interned(argument);
}

void ReadStep(std::string_view step, PyObject* name, PyObject* steps, Node& node) {
  if (step == "attr") {
    node.step = Step::kAttribute;
  } else if (step == "item") {
    node.step = Step::kItem;
  } else if (step == "generic") {
    node.step = Step::kGeneric;
  } else if (step == "type") {
    node.step = Step::kType;
  } else {
    node.step = step == "dict"       ? Step::kDict
                : step == "typedict" ? Step::kTypeDictionary
                : step == "key"      ? Step::kKey
                : step == "default"  ? Step::kDefault
                                     : Step::kCall;
    PyObject* call = PyDict_GetItemWithError(steps, name);
    if (call == nullptr) Malformed("step");
    node.call = Reference::Share(call);
  }
}

}  // namespace

STOKER_EVERY_CALL Values::Values(const std::vector<Node>& nodes, const Roots& roots)
    : nodes_(nodes), roots_(roots), slots_(nodes.size(), &memory_), owned_(&memory_) {
  owned_.reserve(nodes.size());
}

STOKER_EVERY_CALL PyObject* Values::Get(int node) {
  // Evaluate() asks for parents: a recursion of at most kMaxDepth.
  Slot& slot = slots_[static_cast<std::size_t>(node)];
  if (slot.known) return slot.value;
  Reference value = Evaluate(nodes_[static_cast<std::size_t>(node)]);
  if (!value && PyErr_Occurred()) SwallowException();
  slot.known = true;
  slot.value = value.get();
  if (value) owned_.push_back(std::move(value));
  return slot.value;
}

STOKER_EVERY_CALL void Values::Give(int node, Reference value) {
  slots_[static_cast<std::size_t>(node)] = {value.get(), true};
  owned_.push_back(std::move(value));
}

STOKER_EVERY_CALL Reference Values::Evaluate(const Node& node) {
  PyObject* argument = node.argument.get();
  switch (node.step) {
    case Step::kRoot:
      return node.argument;
    case Step::kLocal:
      return Reference::Steal(Root(roots_.local_values, argument));
    case Step::kGlobal:
      return Reference::Steal(Root(roots_.global_values, argument));
    case Step::kModule:
      return Reference::Steal(Root(roots_.modules, argument));
    case Step::kAttribute:
    case Step::kGeneric:
    case Step::kItem:
    case Step::kDict:
    case Step::kType:
    case Step::kTypeDictionary:
    case Step::kKey:
    case Step::kDefault:
    case Step::kCall:
      break;
  }
  PyObject* base = Get(node.parent);
  if (base == nullptr) return {};
  if (node.step == Step::kType) return Reference::Share(reinterpret_cast<PyObject*>(Py_TYPE(base)));
  if (node.argument_node != kNoNode) argument = Get(node.argument_node);
  if (argument == nullptr) return {};
  if (node.step == Step::kAttribute) return Reference::Steal(PyObject_GetAttr(base, argument));
  if (node.step == Step::kGeneric) return Reference::Steal(PyObject_GenericGetAttr(base, argument));
  // What lies there: __missing__ would run code, and that of a defaultdict puts something there.
  if ((node.step == Step::kItem || node.step == Step::kDict) && PyDict_Check(base)) {
    return Reference::Steal(DictItem(base, argument));
  }
  if (node.step == Step::kItem) return Reference::Steal(PyObject_GetItem(base, argument));
  return Reference::Steal(PyObject_CallFunctionObjArgs(node.call.get(), base, argument, nullptr));
}

std::vector<Node> ReadNodes(PyObject* record, PyObject* decode, PyObject* steps,
                            PyObject* builtins) {
  if (!PyList_Check(record)) Malformed("tree of nodes");
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(PyList_Size(record)));
  for (Py_ssize_t i = 0; i < PyList_Size(record); ++i) {
    PyObject* words = PyList_GetItem(record, i);
    if (!PyList_Check(words) || PyList_Size(words) != 3) Malformed("node");
    PyObject* parent = PyList_GetItem(words, 0);
    PyObject* name = PyList_GetItem(words, 1);
    PyObject* argument = PyList_GetItem(words, 2);
    Node node;
    const long place = PyLong_AsLong(parent);
    if (PyErr_Occurred()) throw PythonError();
    if (place == kNoNode) {
      ReadRoot(Text(name), argument, builtins, node);
    } else {
      node.parent = ReadPlace(parent, nodes.size());
      ReadStep(Text(name), name, steps, node);
      ReadArgument(argument, decode, nodes.size(), node);
    }
    for (const int before : {node.parent, node.argument_node}) {
      if (before != kNoNode) {
        node.depth = std::max(node.depth, nodes[static_cast<std::size_t>(before)].depth + 1);
      }
    }
    if (node.depth > kMaxDepth) Malformed("depth");
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace stoker::guards
