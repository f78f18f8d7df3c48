// SPDX-License-Identifier: Apache-2.0
//
// The rows of the op table: what the registry does not say about an operation.
//
// `sharing` claims memory that is not used, so a row says kReuse... only where the kernels of both
// kinds of device hand an input's buffer on; tests/python/test_op_table.py measures every such
// claim on TensorFlow itself. Sorted by name; families are found by prefix when no row fits.

#include "src/tensorflow/op_table.h"

#include <algorithm>
#include <iterator>

namespace tflms {
namespace {

constexpr uint32_t kState = kParameterised;
constexpr uint32_t kWrite = kParameterised | kSideEffect;
constexpr uint32_t kStatefulCall = kCall | kSideEffect | kParameterised;
constexpr Sharing kOwn = Sharing::kOwn;
constexpr Sharing kAlias = Sharing::kAliasFirst;
constexpr Sharing kWrites = Sharing::kWritesFirst;
constexpr Sharing kReuse1 = Sharing::kReuseFirst;
constexpr Sharing kReuseN = Sharing::kReuseEqual;

constexpr OpFacts kRows[] = {
    {"Abs", 0, kReuse1},
    {"Acos", 0, kReuse1},
    {"Acosh", 0, kReuse1},
    {"Add", 0, kReuseN},
    {"AddN", 0, kReuseN},
    {"AddV2", 0, kReuseN},
    {"Asin", 0, kReuse1},
    {"Asinh", 0, kReuse1},
    {"Atan", 0, kReuse1},
    {"Atanh", 0, kReuse1},
    {"Batch", kSideEffect | kPinnedOutside},
    {"BatchFunction", kStatefulCall | kPinnedOutside},
    {"BiasAdd", 0, kReuse1},
    {"BiasAddV1", 0, kReuse1},
    {"Bitcast", 0, kAlias},
    {"BroadcastArgs", 0, kOwn, kAllHost},
    {"BroadcastGradientArgs", 0, kOwn, kAllHost},
    {"Case", kStatefulCall},
    {"Ceil", 0, kReuse1},
    {"CheckNumerics", 0, kAlias},
    {"CheckNumericsV2", 0, kAlias},
    {"ConcatOffset", 0, kOwn, kAllHost},
    {"Const", kSource},
    {"CopyHost", 0, kOwn, kAllHost},
    {"Cos", 0, kReuse1},
    {"Cosh", 0, kReuse1},
    {"Div", 0, kReuseN},
    {"DivNoNan", 0, kReuseN},
    {"Elu", 0, kReuse1},
    {"EluGrad", 0, kReuseN},
    {"EnsureShape", 0, kAlias},
    {"Enter", kEnter, kAlias},
    {"Erf", 0, kReuse1},
    {"Erfc", 0, kReuse1},
    {"Exit", kExit, kAlias},
    {"Exp", 0, kReuse1},
    {"ExpandDims", 0, kAlias},
    {"Expm1", 0, kReuse1},
    {"Floor", 0, kReuse1},
    {"For", kStatefulCall},
    {"HostConst", kSource, kOwn, kAllHost},
    {"Identity", 0, kAlias},
    {"IdentityN", 0, Sharing::kAliasEach},
    {"If", kStatefulCall},
    {"ImmutableConst", kSource},
    {"InplaceAdd", 0, kWrites},
    {"InplaceSub", 0, kWrites},
    {"InplaceUpdate", 0, kWrites},
    {"Inv", 0, kReuse1},
    {"InvGrad", 0, kReuseN},
    {"Invert", 0, kReuse1},
    {"InvertPermutation", 0, kOwn, kAllHost},
    {"IsVariableInitialized", kState, kOwn, kAllHost},
    {"LeakyRelu", 0, kReuse1},
    {"LeakyReluGrad", 0, kReuseN},
    {"LinSpace", 0, kOwn, kAllHost},
    {"Log", 0, kReuse1},
    {"Log1p", 0, kReuse1},
    {"LogSoftmax", 0, kReuse1},
    {"LogicalAnd", 0, kReuseN},
    {"LogicalNot", 0, kReuse1},
    {"LogicalOr", 0, kReuseN},
    {"LoopCond", kLoopCond, kAlias, kAllHost},
    {"MapDefun", kStatefulCall},
    {"Maximum", 0, kReuseN},
    {"Merge", kMerge, kReuseN},
    {"Minimum", 0, kReuseN},
    {"Mul", 0, kReuseN},
    {"MulNoNan", 0, kReuseN},
    {"Multinomial", kRandom},
    {"Neg", 0, kReuse1},
    {"NextIteration", kNextIteration, kAlias},
    {"NoOp"},
    {"ParameterizedTruncatedNormal", kRandom},
    {"PartitionedCall", kCall},
    {"Placeholder", kSource},
    {"PlaceholderV2", kSource},
    {"PlaceholderWithDefault", kSource, kAlias},
    {"Pow", 0, kReuseN},
    {"PreventGradient", 0, kAlias},
    {"RandomGamma", kRandom},
    {"RandomPoisson", kRandom},
    {"RandomPoissonV2", kRandom},
    {"RandomShuffle", kRandom},
    {"RandomStandardNormal", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformInt", kRandom},
    {"Range", 0, kOwn, kAllHost},
    {"Rank", 0, kOwn, kAllHost},
    {"ReadVariableOp", kState},
    {"RealDiv", 0, kReuseN},
    {"Reciprocal", 0, kReuse1},
    {"ReciprocalGrad", 0, kReuseN},
    {"RefEnter", kEnter, kAlias},
    {"RefExit", kExit, kAlias},
    {"RefIdentity", 0, kAlias},
    {"RefMerge", kMerge, kReuseN},
    {"RefNextIteration", kNextIteration, kAlias},
    {"RefSwitch", kSwitch, kAlias},
    {"Relu", 0, kReuse1},
    {"Relu6", 0, kReuse1},
    {"Relu6Grad", 0, kReuseN},
    {"ReluGrad", 0, kReuseN},
    {"RemoteCall", kStatefulCall | kPinnedOutside},
    {"Reshape", 0, kAlias},
    {"ResourceGather", kState},
    {"ResourceGatherNd", kState},
    {"Rint", 0, kReuse1},
    {"Round", 0, kReuse1},
    {"Rsqrt", 0, kReuse1},
    {"RsqrtGrad", 0, kReuseN},
    {"Selu", 0, kReuse1},
    {"SeluGrad", 0, kReuseN},
    {"Shape", 0, kOwn, kAllHost},
    {"ShapeN", 0, kOwn, kAllHost},
    {"Sigmoid", 0, kReuse1},
    {"SigmoidGrad", 0, kReuseN},
    {"Sign", 0, kReuse1},
    {"Sin", 0, kReuse1},
    {"Sinh", 0, kReuse1},
    {"Size", 0, kOwn, kAllHost},
    {"Snapshot", 0, kReuse1},
    {"Softmax", 0, kReuse1},
    {"Softplus", 0, kReuse1},
    {"SoftplusGrad", 0, kReuseN},
    {"Softsign", 0, kReuse1},
    {"SoftsignGrad", 0, kReuseN},
    {"Sqrt", 0, kReuse1},
    {"SqrtGrad", 0, kReuseN},
    {"Square", 0, kReuse1},
    {"SquaredDifference", 0, kReuseN},
    {"Squeeze", 0, kAlias},
    {"StatefulPartitionedCall", kStatefulCall},
    {"StatelessCase", kCall},
    {"StatelessIf", kCall},
    {"StatelessWhile", kCall},
    {"StopGradient", 0, kAlias},
    {"Sub", 0, kReuseN},
    {"Switch", kSwitch, kAlias},
    {"SymbolicGradient", kCall},
    {"TPUPartitionedCall", kStatefulCall},
    {"Tan", 0, kReuse1},
    {"Tanh", 0, kReuse1},
    {"TanhGrad", 0, kReuseN},
    {"TensorListConcat", 0, kOwn, 0x2},
    {"TensorListConcatV2", 0, kOwn, 0x2},
    {"TensorListElementShape", 0, kOwn, kAllHost},
    {"TensorListLength", 0, kOwn, kAllHost},
    {"TruncatedNormal", kRandom},
    {"VarHandleOp", kState},
    {"VarHandlesOp", kState},
    {"VarIsInitializedOp", kState, kOwn, kAllHost},
    {"Variable", kState},
    {"VariableShape", kState, kOwn, kAllHost},
    {"VariableV2", kState},
    {"While", kStatefulCall},
    {"XlaLaunch", kStatefulCall | kCompiled},
    {"XlaLaunchV2", kStatefulCall | kCompiled},
    {"Xlogy", 0, kReuseN},
    {"_Arg", kSource},
    {"_ArrayToList", 0, Sharing::kAliasEach},
    {"_DeviceArg", kSource},
    {"_DeviceRetval", kPreserved | kPinnedOutside},
    {"_HostCast", 0, kOwn, kAllHost},
    {"_If", kStatefulCall},
    {"_ListToArray", 0, Sharing::kAliasEach},
    {"_ParallelConcatUpdate", 0, kWrites},
    {"_Retval", kPreserved | kPinnedOutside},
    {"_SwitchN", kSwitch, kAlias},
    {"_While", kStatefulCall},
    {"_XlaCompile", kStatefulCall | kCompiled},
    {"_XlaMerge", kMerge | kCompiled, kReuseN},
    {"_XlaRun", kStatefulCall | kCompiled},
};

static_assert(std::ranges::is_sorted(kRows, {}, &OpFacts::name));

// Families by prefix: operations that wait for something outside the graph's edges, and members of
// collectives. The first that fits counts.
constexpr OpFacts kFamilies[] = {
    {"Collective", kCollective | kSideEffect},
    {"Nccl", kCollective | kSideEffect},
    {"_Nccl", kCollective | kSideEffect},
    {"Send", kWrite | kPinnedOutside},
    {"Recv", kWrite | kPinnedOutside},
    {"_Send", kWrite | kPinnedOutside},
    {"_Recv", kWrite | kPinnedOutside},
    {"_HostSend", kWrite | kPinnedOutside},
    {"_HostRecv", kWrite | kPinnedOutside, kOwn, kAllHost},
    {"Queue", kWrite | kPinnedOutside},
    {"Barrier", kWrite | kPinnedOutside},
    {"Stage", kWrite | kPinnedOutside},
    {"Unstage", kWrite | kPinnedOutside},
    {"MapStage", kWrite | kPinnedOutside},
    {"MapUnstage", kWrite | kPinnedOutside},
    {"OrderedMap", kWrite | kPinnedOutside},
    {"Iterator", kWrite | kPinnedOutside},
    {"MultiDeviceIterator", kWrite | kPinnedOutside},
    {"Infeed", kWrite | kPinnedOutside},
    {"Outfeed", kWrite | kPinnedOutside},
    {"RecordInput", kWrite | kPinnedOutside},
    {"Reader", kWrite | kPinnedOutside},
    {"Accumulator", kWrite | kPinnedOutside},
};

}  // namespace

OpFacts FindFacts(std::string_view op) {
  const auto* row = std::ranges::lower_bound(kRows, op, {}, &OpFacts::name);
  if (row != std::end(kRows) && row->name == op) return *row;
  const OpSignature* signature = FindSignature(op);
  const bool stateful = signature != nullptr && (signature->stateful || signature->ref_inputs != 0);
  if (stateful) {
    for (const OpFacts& family : kFamilies) {
      if (op.starts_with(family.name)) return family;
    }
  }
  if (stateful) return {op, kWrite};
  if (signature == nullptr) return {op, kSideEffect};
  return {op};
}

}  // namespace tflms
