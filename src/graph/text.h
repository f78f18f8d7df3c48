// SPDX-License-Identifier: Apache-2.0
//
// The text form of a graph, for tests, the command line and people.
//
//   graph   = { line }                        one statement a line; '#' starts a comment
//   line    = device | node
//   device  = "device" NAME kind [FULL] ["host=" NAME]        kind = accelerator | host | other
//           | "device" "none"                                 a graph without any device
//   node    = NAME "=" OP [ "(" inputs ")" ] [ ":" outputs ] { word }
//   input   = ["&"] NAME [":" PORT]           data; "&" = an update edge
//           | ["+"] "^" NAME                  control, after all data inputs; "+" = a rule added it
//   output  = TYPE ["&"] "[" extents "]" [ "{" mods "}" ]     "&" = a reference to state
//   extents = N or "?" with commas | "*"      "?" = unknown extent, "*" = unknown rank
//   mods    = host, persistent, alias=SLOT, reuse=SLOT, reuse=any
//   word    = "@" DEVICE | flag | frame=NAME | sync=N | state=BYTES | ws=BYTES | t=US | role=ROLE
//           | pieces=N                        makes one of so many pieces (splits.h)
//           | of=NAME                         of a recompute: the node that it runs again
//   flag    = param, effect, random, source, call, compiled, switch, merge, enter, exit,
//             next-iteration, loop-cond, collective, preserved, pinned-outside,
//             picks-input, repeatable, batchwise
//   ROLE    = swap-out | swap-in | recompute | split
//
// Example:
//   x = Source : f32[8] t=0
//   w = VarHandle : resource[] param state=32
//   y = MatMul(x, w, ^x) : f32[8,?]{reuse=0} ws=64 t=5
//   tflms/out = Identity(y) : f32[8,?]{alias=0} @cpu role=swap-out
//
// Names and operations are plain words (letters, digits and _ . / < > -) or quoted (base/text.h).
// An input may name a node of a later line. Left out: no inputs, no outputs, t=1, zero sizes. A
// text without device lines has the devices `gpu`, an accelerator with host `cpu`, and `cpu`. A
// node without "@" is on the first accelerator, or on the first device when there is none; "@none"
// places it nowhere. Everything in Graph but Node::cookie has its place in the text.
//
// The parser takes any graph that can be written, malformed ones too; VerifyGraph judges it.

#ifndef TFLMS_GRAPH_TEXT_H_
#define TFLMS_GRAPH_TEXT_H_

#include <string>
#include <string_view>

#include "src/graph/graph.h"
#include "tflms/status.h"

namespace tflms {

// The graph that `text` describes. An error names the line (counted from `first_line`), the node,
// what was expected and what was found. O(length of the text).
Result<Graph> ParseGraph(std::string_view text, int32_t first_line = 1);

// The graph in canonical form: ParseGraph of it gives the graph back but for cookies, and printing
// that gives the same text. Ids out of range print as "<bad ...>", which does not parse.
std::string PrintGraph(const Graph& graph);

// The devices of a text without device lines.
std::vector<Device> DefaultDevices();

}  // namespace tflms

#endif  // TFLMS_GRAPH_TEXT_H_
