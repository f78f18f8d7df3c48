/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C surface of the plugin, for the Python package (by ctypes) and for tests. The shared object
 * exports two symbols: TF_InitGraph, which TensorFlow calls, and TflmsGetApi. All strings are
 * UTF-8. Every function may be called from any thread. Returned char* are owned by the caller and
 * given back with free_string.
 */

#ifndef TFLMS_C_API_H_
#define TFLMS_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counters of devices, from whoever has them. Copies since the start of the process, summed over
 * all devices: bytes out, busy us out, bytes in, busy us in. */
typedef void (*TflmsReadCopies)(int64_t counts[4]);
/* Calls `visit` for each operation that ran since the last call, by node name, with the runs that
 * were measured and their time in sum; counting then starts anew. */
typedef void (*TflmsVisitRuns)(void* context, const char* node, int64_t runs, int64_t total_us);
typedef void (*TflmsTakeRuns)(TflmsVisitRuns visit, void* context);

typedef struct TflmsApi {
  size_t struct_size; /* sizeof(TflmsApi) of the library; new members go at the end */
  /* "0.1.0" */
  const char* (*version)(void);
  /* JSON list of options: [{"name", "type", "unit", "default", "range", "help"}, ...]. */
  char* (*option_table)(void);
  /* JSON lists of {"name", "summary", "formula"}: the rules and the planners, in catalog order. */
  char* (*rule_table)(void);
  char* (*planner_table)(void);
  /* Turns rewriting on (`on` != 0) with the options in `json`, an object {"name": value, ...};
   * names that are not given keep environment value or default. With `on` == 0 every graph passes
   * as it came. Returns NULL, or an error text (the settings are then unchanged). */
  char* (*configure)(int on, const char* json);
  /* JSON object {"on": bool, "registered_device_type": "GPU" or "", "options": {...}}. */
  char* (*settings)(void);
  /* JSON list of the reports of the graphs seen since the start or the last clear, oldest first (at
   * most 1,000 are kept; "graphs_seen" counts all): {"graphs_seen": n, "reports": [...]}. */
  char* (*reports)(void);
  void (*clear_reports)(void);
  void (*free_string)(char* text);
  /* JSON list of the plans of the last rewritten graphs (at most 16), oldest first, each as the
   * dump files have it: {"graph", "device", "budget_bytes", "persistent_bytes", "timeline",
   * "swaps", "recomputes"}. */
  char* (*plans)(void);
  /* JSON list of what the operations of the last graphs (at most 16) were taken to cost, oldest
   * first: {"graph": name, "ops": {node: {"op", "key", "time_us"}}}; "key" is the operation with
   * all its types and shapes, "" when one is not known. */
  char* (*cost_table)(void);
  /* With `on` != 0 the tables are also kept of graphs that pass while rewriting is off. */
  void (*watch_costs)(int on);
  /* JSON list of the same plans as a plan file has them (docs/plan-files.md), oldest first:
   * {"graph", "device", "plan": {...}}. */
  char* (*plan_files)(void);
  /* Where option `feedback` reads what was measured; NULL for nowhere. Both must stay callable for
   * the life of the process, from any thread. */
  void (*set_counters)(TflmsReadCopies read_copies, TflmsTakeRuns take_runs);
} TflmsApi;

/* The table above; never NULL; valid as long as the library is loaded. */
const TflmsApi* TflmsGetApi(void);

#ifdef __cplusplus
}
#endif

#endif /* TFLMS_C_API_H_ */
