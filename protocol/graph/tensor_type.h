// Shape and TensorType: what a Value is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/dtype.h"
#include "protocol/base/result.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

inline constexpr int kMaxRank = 8;

// Sizes, outermost first. A scalar has rank 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::vector<SymDim> dims) : dims_(std::move(dims)) {}  // NOLINT: implicit
  Shape(std::initializer_list<SymDim> dims) : dims_(dims) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const SymDim& operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  const std::vector<SymDim>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  bool IsStatic() const;                         // No symbols.
  SymDim NumElements() const;                    // Product; 1 for a scalar.
  std::vector<std::int64_t> StaticDims() const;  // Requires IsStatic().
  std::string ToString() const;                  // "[2,s0,768]", "[]".

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<SymDim> dims_;
};

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  std::string ToString() const;  // "f32[2,s0,768]".
  static Result<TensorType> Parse(std::string_view text);
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

}  // namespace stoker
