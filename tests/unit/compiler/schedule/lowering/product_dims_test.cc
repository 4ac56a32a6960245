#include "compiler/schedule/lowering/product_dims.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

SymDim S(std::uint32_t symbol) { return SymDim::Symbol(symbol); }

// Rows of A and D, columns of B and D, and k, by rows: x of [m, k] times w of [k, n].
ProductDims Plain(const SymDim& m, const SymDim& n, const SymDim& k) {
  return {{}, {{m, k, 0, n, n}}, {{n, 0, 1, 1, 1}}, {{k, 1, n, 0, 0}}};
}

std::optional<FlatProduct> Flatten(const ProductDims& dims, ProductOperand* blamed = nullptr) {
  ProductOperand ignored = ProductOperand::kA;
  return FlattenProduct(dims, blamed != nullptr ? blamed : &ignored);
}

TEST(FlattenProduct, Plain_LinesAreRows) {
  const auto flat = Flatten(Plain(5, 7, 9)).value();
  EXPECT_EQ(flat.batch, SymDim(1));
  EXPECT_EQ(flat.m, SymDim(5));
  EXPECT_EQ(flat.a.leading, SymDim(9));
  EXPECT_FALSE(flat.a.by_columns);
  EXPECT_EQ(flat.b.leading, SymDim(7));
  EXPECT_FALSE(flat.b.by_columns);
  EXPECT_EQ(flat.d.leading, SymDim(7));
}

TEST(FlattenProduct, TransposedFactors_LieByColumns) {
  ProductDims dims = Plain(5, 7, 9);
  dims.m[0].a = 1;
  dims.k[0].a = 5;
  dims.n[0].b = 9;
  dims.k[0].b = 1;
  const auto flat = Flatten(dims).value();
  EXPECT_TRUE(flat.a.by_columns);
  EXPECT_EQ(flat.a.leading, SymDim(5));
  EXPECT_TRUE(flat.b.by_columns);
  EXPECT_EQ(flat.b.leading, SymDim(9));
}

TEST(FlattenProduct, SymbolicRowsOfSeveralDims_AreOne) {
  ProductDims dims = Plain(1, 7, 9);
  dims.m = {{S(0), S(1) * 9, 0, S(1) * 7, S(1) * 7}, {S(1), 9, 0, 7, 7}};
  const auto flat = Flatten(dims).value();
  EXPECT_EQ(flat.m, S(0) * S(1));
  EXPECT_EQ(flat.a.leading, SymDim(9));
  EXPECT_EQ(flat.batch, SymDim(1));
}

TEST(FlattenProduct, OuterRowsApart_AreABatchThatSharesB) {
  ProductDims dims = Plain(4, 7, 9);
  dims.m = {{3, 100, 0, 28, 28}, {4, 9, 0, 7, 7}};
  const auto flat = Flatten(dims).value();
  EXPECT_EQ(flat.batch, SymDim(3));
  EXPECT_EQ(flat.m, SymDim(4));
  EXPECT_EQ(flat.a.batch_stride, SymDim(100));
  EXPECT_EQ(flat.b.batch_stride, SymDim(0));
  EXPECT_EQ(flat.d.batch_stride, SymDim(28));
}

TEST(FlattenProduct, BatchThatSharesB_IsMoreRows) {
  ProductDims dims = Plain(4, 7, 9);
  dims.batch = {{3, 36, 0, 28, 28}};
  const auto flat = Flatten(dims).value();
  EXPECT_EQ(flat.batch, SymDim(1));
  EXPECT_EQ(flat.m, SymDim(12));
}

TEST(FlattenProduct, HeadsOfOneRow_AreBatchesAHeadApart) {
  // q of [rows, 12, 64] times k of the same.
  ProductDims dims;
  dims.batch = {{12, 64, 64, 128 * 128, 128 * 128}};
  dims.m = {{128, 768, 0, 128, 128}};
  dims.n = {{128, 0, 768, 1, 1}};
  dims.k = {{64, 1, 1, 0, 0}};
  const auto flat = Flatten(dims).value();
  EXPECT_EQ(flat.a.batch_stride, SymDim(64));
  EXPECT_EQ(flat.a.leading, SymDim(768));
  EXPECT_TRUE(flat.b.by_columns);
}

TEST(FlattenProduct, WhatDoesNotFit_BlamesTheOperand) {
  struct Case {
    const char* name;
    void (*apply)(ProductDims& dims);
    ProductOperand blamed;
  };
  const Case cases[] = {
      {"A is spread along k", [](ProductDims& d) { d.k[0].a = 2; }, ProductOperand::kA},
      {"A is one row for all", [](ProductDims& d) { d.m[0].a = 0; }, ProductOperand::kA},
      {"A is reversed", [](ProductDims& d) { d.m[0].a = -9; }, ProductOperand::kA},
      {"rows of A overlap", [](ProductDims& d) { d.m[0].a = 8; }, ProductOperand::kA},
      {"B is one column for all", [](ProductDims& d) { d.n[0].b = 0; }, ProductOperand::kB},
      {"C is one row for all", [](ProductDims& d) { d.m[0].c = 0; }, ProductOperand::kC},
      {"D is by columns",
       [](ProductDims& d) {
         d.m[0].d = 1;
         d.n[0].d = 5;
       },
       ProductOperand::kD},
      {"k of B in two parts",
       [](ProductDims& d) {
         d.k = {{3, 3, 100, 0, 0}, {3, 1, 7, 0, 0}};
       },
       ProductOperand::kB},
      {"k of A in two parts",
       [](ProductDims& d) {
         d.k = {{3, 100, 21, 0, 0}, {3, 1, 7, 0, 0}};
       },
       ProductOperand::kA},
      {"batches of D apart",
       [](ProductDims& d) {
         d.batch = {{2, 90, 126, 70, 100}, {2, 45, 63, 35, 35}};
       },
       ProductOperand::kD},
      {"rows of A apart under a batch",
       [](ProductDims& d) {
         d.batch = {{2, 500, 63, 105, 105}};
         d.m = {{3, 100, 0, 35, 35}, {5, 9, 0, 7, 7}};
       },
       ProductOperand::kA},
  };
  for (const Case& c : cases) {
    ProductDims dims = Plain(5, 7, 9);
    c.apply(dims);
    ProductOperand blamed = ProductOperand::kA;
    EXPECT_FALSE(Flatten(dims, &blamed)) << c.name;
    EXPECT_EQ(blamed, c.blamed) << c.name;
  }
}

TEST(FlattenProduct, DimsOfOneElement_StepAsTheyLike) {
  ProductDims dims = Plain(1, 7, 1);
  dims.m[0].a = 0;
  dims.k[0].a = 17;
  const auto flat = Flatten(dims).value();
  EXPECT_EQ(flat.a.leading, SymDim(1));
  EXPECT_EQ(flat.d.leading, SymDim(7));
}

}  // namespace
}  // namespace stoker
