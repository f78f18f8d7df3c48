// SPDX-License-Identifier: Apache-2.0
//
// Extents that shape inference does not know as numbers. It names those it can tell apart by
// symbols, negative numbers below -1: the same symbol is the same number, wherever it stands. A
// symbol gets its value
//
//   told    the first extent of what a step is fed (iterator, placeholder, argument) is the batch
//   size by sums a reshape keeps the number of elements: with one symbol open on either side and
//   the rest
//           known, the symbol is the quotient
//
// until nothing more follows. What stays open is unknown, never guessed.
// Cost: O(passes x outputs); each pass but the last gives a symbol its value.

#ifndef TFLMS_TENSORFLOW_SYMBOLS_H_
#define TFLMS_TENSORFLOW_SYMBOLS_H_

#include <cstdint>

#include "src/graph/graph.h"

namespace tflms {

// Replaces all symbols in the output shapes of `graph` by their values or by kUnknownExtent.
// `batch_size` 0: not told.
void ResolveSymbols(int64_t batch_size, Graph* graph);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_SYMBOLS_H_
