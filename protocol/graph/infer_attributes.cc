#include "protocol/graph/infer.h"

namespace stoker {
namespace {

using A = AttrName;

constexpr A kDimOnly[] = {A::kDim};
constexpr A kDimsOnly[] = {A::kDims};
constexpr A kCompare[] = {A::kDirection};
constexpr A kSlice[] = {A::kStart, A::kLimit, A::kStride};
constexpr A kPad[] = {A::kLow, A::kHigh, A::kInterior};
constexpr A kReduce[] = {A::kDims, A::kKind};
constexpr A kArgReduce[] = {A::kDim, A::kKind};
constexpr A kReduceWindow[] = {A::kKind,    A::kStrides,  A::kPadLow,
                               A::kPadHigh, A::kDilation, A::kWindow};
constexpr A kCumulative[] = {A::kDim, A::kKind, A::kReverse, A::kExclusive};
constexpr A kDotGeneral[] = {A::kLhsBatch, A::kRhsBatch, A::kLhsContract, A::kRhsContract};
constexpr A kConvolution[] = {A::kStrides,  A::kPadLow,      A::kPadHigh,
                              A::kDilation, A::kLhsDilation, A::kGroups};
constexpr A kGather[] = {A::kOffsetDims, A::kCollapsedDims, A::kStartIndexMap, A::kIndexVectorDim,
                         A::kSliceSizes};
constexpr A kScatter[] = {A::kKind, A::kIndexVectorDim, A::kUpdateWindowDims,
                          A::kInsertedWindowDims, A::kScatterDims};
constexpr A kDynamicSlice[] = {A::kSliceSizes};
constexpr A kSort[] = {A::kDim, A::kDescending};
constexpr A kTopK[] = {A::kK, A::kLargest};
constexpr A kAttention[] = {A::kScale, A::kCausal};
constexpr A kExternCall[] = {A::kTarget};

}  // namespace

std::span<const AttrName> AttributesOf(OpKind kind) {
  switch (kind) {
    case OpKind::kIota:
    case OpKind::kConcatenate:
      return kDimOnly;
    case OpKind::kBroadcastInDim:
    case OpKind::kTranspose:
    case OpKind::kReverse:
      return kDimsOnly;
    case OpKind::kCompare:
      return kCompare;
    case OpKind::kSlice:
      return kSlice;
    case OpKind::kPad:
      return kPad;
    case OpKind::kReduce:
      return kReduce;
    case OpKind::kArgReduce:
      return kArgReduce;
    case OpKind::kReduceWindow:
      return kReduceWindow;
    case OpKind::kCumulative:
      return kCumulative;
    case OpKind::kDotGeneral:
      return kDotGeneral;
    case OpKind::kConvolution:
      return kConvolution;
    case OpKind::kGather:
      return kGather;
    case OpKind::kScatter:
      return kScatter;
    case OpKind::kDynamicSlice:
      return kDynamicSlice;
    case OpKind::kSort:
      return kSort;
    case OpKind::kTopK:
      return kTopK;
    case OpKind::kAttention:
      return kAttention;
    case OpKind::kExternCall:
      return kExternCall;
    case OpKind::kConstant:
    case OpKind::kAbs:
    case OpKind::kNegate:
    case OpKind::kSign:
    case OpKind::kExponential:
    case OpKind::kExponential2:
    case OpKind::kExponentialMinusOne:
    case OpKind::kLog:
    case OpKind::kLog2:
    case OpKind::kLogPlusOne:
    case OpKind::kLogistic:
    case OpKind::kSqrt:
    case OpKind::kRsqrt:
    case OpKind::kSine:
    case OpKind::kCosine:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
    case OpKind::kSinh:
    case OpKind::kCosh:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kTrunc:
    case OpKind::kRoundNearestEven:
    case OpKind::kIsFinite:
    case OpKind::kIsNan:
    case OpKind::kNot:
    case OpKind::kConvert:
    case OpKind::kBitcastConvert:
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kDivide:
    case OpKind::kRemainder:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kPower:
    case OpKind::kAtan2:
    case OpKind::kAnd:
    case OpKind::kOr:
    case OpKind::kXor:
    case OpKind::kShiftLeft:
    case OpKind::kShiftRightArithmetic:
    case OpKind::kShiftRightLogical:
    case OpKind::kSelect:
    case OpKind::kClamp:
    case OpKind::kReshape:
    case OpKind::kDynamicUpdateSlice:
      return {};
  }
  return {};
}

}  // namespace stoker
