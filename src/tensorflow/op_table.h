// SPDX-License-Identifier: Apache-2.0
//
// What TensorFlow's operations mean, as data: flags, output types, where outputs live, which
// buffers they share, what persists.
//
// Four tables stand behind it: op_signatures.inc, made from TensorFlow's op registry (outputs,
// references, stateful or not), the rows of op_table.cc, which say what the registry does not, and
// the lists of op_repeatable.cc and op_batchwise.cc.
// Where a fact is not certain the answer is the one that keeps the predicted peak high and the
// tensor where it is. An operation in neither table is taken to have side effects.

#ifndef TFLMS_TENSORFLOW_OP_TABLE_H_
#define TFLMS_TENSORFLOW_OP_TABLE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"
#include "src/tensorflow/wire.h"

namespace tflms {

// One row of op_signatures.inc; scripts/make_op_signatures.py says what the members mean.
struct OpSignature {
  std::string_view name;
  std::string_view outputs;
  bool stateful = false;
  uint16_t ref_inputs = 0;
};
inline constexpr uint16_t kAllRefInputs = 0xFFFF;

// The signature, or null for an operation that TensorFlow's registry did not have.
const OpSignature* FindSignature(std::string_view op);

// Whose buffer an output is.
enum class Sharing : uint8_t {
  kOwn,          // a new one
  kAliasFirst,   // every output is input 0's buffer
  kAliasEach,    // output i is input i's buffer
  kWritesFirst,  // writes into input 0's buffer, which is its output too
  kReuseFirst,   // output 0 takes over input 0's buffer when nobody else needs it
  kReuseEqual,   // output 0 takes over any input of its size
};

// One row of the table in op_table.cc.
struct OpFacts {
  std::string_view name;
  uint32_t flags = 0;  // NodeFlag bits
  Sharing sharing = Sharing::kOwn;
  // On an accelerator: bit i set when output i lives in host memory whatever its type; all ones
  // when every output does.
  uint8_t host_outputs = 0;
};
inline constexpr uint8_t kAllHost = 0xFF;

// What the table says about an operation, by row, family or signature; never fails.
OpFacts FindFacts(std::string_view op);

// True when an operation may run a second time (op_repeatable.cc): pure, the same bits again.
bool IsRepeatableOp(std::string_view op);

// True when an operation may run on some rows at a time (op_batchwise.cc): the same bits.
bool IsBatchwiseOp(std::string_view op);

// Output types by the operation's signature and attributes, with unknown shapes; kInvalid where the
// type's attribute is missing. Nothing when the operation is unknown or the number of outputs is.
// At most `max_outputs`: more is a WireFault.
std::optional<std::vector<TensorType>> SignatureOutputs(std::string_view op, AttrList attrs,
                                                        size_t max_outputs);

// Fills flags, output facts, edge actions, frames, sync groups and state bytes of every node of
// `graph`, whose nodes, inputs and output types are those of `raw`.
void ApplyOpTable(const RawGraph& raw, Graph* graph);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_OP_TABLE_H_
