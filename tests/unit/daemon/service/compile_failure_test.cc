#include "daemon/service/failure/compile_failure.h"

#include <gmock/gmock.h>

namespace stoker {
namespace {

using testing::EndsWith;

TEST(CompileFailure, FailureOfWorker_ByCodeAndField) {
  const auto class_of = [](const Error& error) { return FailureOfWorker(error).failure_class; };
  EXPECT_EQ(class_of(InvalidArgument("Node 3 is wrong.")), FailureClass::kDiagnostic);
  EXPECT_EQ(class_of(Unimplemented("Op 'x'")), FailureClass::kDiagnostic);
  EXPECT_EQ(class_of(DataLoss("Field 'compile.graph': it is cut.")), FailureClass::kDiagnostic);
  EXPECT_EQ(class_of(ResourceExhausted("Field 'compile.graph': 9 nodes exceed the limit of 8.")),
            FailureClass::kDiagnostic);
  EXPECT_EQ(class_of(ResourceExhausted("The compile needs more memory.")), FailureClass::kMemory);
  EXPECT_EQ(class_of(Internal("bug")), FailureClass::kInternal);
}

// Clients act on codes: a worker must not make them wait, or send the graph again.
TEST(CompileFailure, FailureOfWorker_CodesThatNoWorkerSays_BecomeInternal) {
  for (const Error& error : {Unavailable("x"), DeadlineExceeded("x"), NotFound("x")}) {
    const CompileFailure failure = FailureOfWorker(error);
    EXPECT_EQ(failure.failure_class, FailureClass::kInternal);
    EXPECT_EQ(failure.error.code, ErrorCode::kInternal);
    EXPECT_EQ(failure.error.message, "x");
  }
}

// The caller runs it some other way; a diagnostic would be remembered.
TEST(CompileFailure, FailureOfWorker_WhatTheHostLacks_IsUnimplementedHereAndNow) {
  const CompileFailure failure = FailureOfWorker(FailedPrecondition("There is no nvJitLink."));
  EXPECT_EQ(failure.failure_class, FailureClass::kHost);
  EXPECT_EQ(failure.error.code, ErrorCode::kUnimplemented);
}

TEST(CompileFailure, FailureOfWorker_LongMessage_IsCut) {
  const CompileFailure failure =
      FailureOfWorker(InvalidArgument(std::string(kMaxFailureMessageBytes + 1, 'x')));
  EXPECT_LE(failure.error.message.size(), kMaxFailureMessageBytes + 4);
  EXPECT_THAT(failure.error.message, EndsWith("x ..."));
}

}  // namespace
}  // namespace stoker
