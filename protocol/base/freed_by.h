// FreedBy: how a unique_ptr lets go of an object of a C library.
#pragma once

namespace stoker {

template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

}  // namespace stoker
