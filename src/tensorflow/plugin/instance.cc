// SPDX-License-Identifier: Apache-2.0
//
// One graph, pass by pass. Whatever goes wrong ends as a warning, a report of outcome "declined"
// and the graph as it came.

#include "src/tensorflow/plugin/instance.h"

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "src/tensorflow/plugin/dump.h"
#include "src/tensorflow/plugin/grappler_item.h"
#include "src/tensorflow/plugin/log.h"
#include "src/tensorflow/plugin/optimize.h"
#include "src/tensorflow/plugin/pass_switches.h"
#include "src/tensorflow/plugin/summary.h"

namespace tflms {
namespace {

// Grappler leaves smaller graphs alone, and may end after any pass that shrinks one to this.
constexpr int64_t kGrapplerMinNodes = 4;

constexpr const char* kSinglePassReason =
    "Grappler did not come to its second pass over the graph, which is when tflms rewrites; "
    "RewriterConfig.meta_optimizer_iterations may be ONE. Graphs from here on are rewritten in "
    "their first pass; make TensorFlow build this one again to have it rewritten";

using Clock = std::chrono::steady_clock;

int64_t MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

void Keep(PluginState* state, LogLevel threshold, const Report& report) {
  state->AddReport(report);
  if (report.outcome != Outcome::kAlreadyDone) {
    Log(threshold, SummaryLevel(report), SummaryLine(report));
    // Of interest where there was something to plan.
    const bool matters = report.outcome == Outcome::kRewritten;
    if (!report.plan_refused.empty()) {
      Log(threshold, matters ? LogLevel::kWarning : LogLevel::kDebug,
          report.graph + " is planned anew: " + report.plan_refused);
    }
  }
}

// What TensorFlow knows about the graph. Missing shapes are no reason to stop: the sizes are then
// unknown, which the reports say.
Result<ImportContext> ReadContext(const TfApi& api, const Options& options, LogLevel threshold,
                                  std::string_view graph, const abi::GrapplerItem* item) {
  ImportContext context;
  context.device_type = options.device_type;
  context.host_device = options.host_device;
  context.batch_size = options.batch_size;
  TFLMS_ASSIGN_OR_RETURN(const std::vector<std::string> names, NodeNames(graph));
  TFLMS_ASSIGN_OR_RETURN(context.preserve, PreservedNodes(api, item));
  TFLMS_ASSIGN_OR_RETURN(context.fetched, FetchedNodes(api, item));
  auto types = InferOutputTypes(api, item, names);
  if (types.ok()) {
    context.inferred = std::move(*types);
  } else {
    Log(threshold, LogLevel::kWarning,
        "shape inference failed, sizes are unknown: " + types.status().message());
  }
  return context;
}

Result<OptimizedGraph> ReadAndOptimize(const TfApi& api, const Options& options,
                                       const Corrections& corrections, const std::string& name,
                                       std::string_view graph, const abi::GrapplerItem* item) {
  TFLMS_ASSIGN_OR_RETURN(const ImportContext context,
                         ReadContext(api, options, ParseLogLevel(options.log_level), graph, item));
  return OptimizeGraphDef(options, name, graph, context, corrections);
}

// Every fault, exceptions included, becomes a report of outcome "declined".
OptimizedGraph OptimizeOrDecline(const TfApi& api, const Options& options,
                                 const Corrections& corrections, int64_t number,
                                 std::string_view graph, const abi::GrapplerItem* item) {
  const std::string name = "graph " + std::to_string(number);
  std::string reason;
  try {
    Result<OptimizedGraph> optimized =
        ReadAndOptimize(api, options, corrections, name, graph, item);
    if (optimized.ok()) return std::move(*optimized);
    reason = optimized.status().ToString();
  } catch (const std::exception& fault) {
    reason = std::string("exception: ") + fault.what();
  }
  OptimizedGraph declined;
  declined.reports.push_back(DeclinedReport(name, reason));
  return declined;
}

void LogFault(LogLevel threshold, const Status& status) {
  if (!status.ok()) Log(threshold, LogLevel::kWarning, status.message());
}

void GiveBackBuffer(void* data, size_t /*length*/) { GetState().GiveBack(data); }

void Hand(std::string bytes, PluginState* state, abi::Buffer* out) {
  out->length = bytes.size();
  out->data = state->Lend(std::move(bytes));
  out->data_deallocator = &GiveBackBuffer;
}

}  // namespace

void GraphOptimizer::Optimize(const abi::Buffer* in, const abi::GrapplerItem* item,
                              abi::Buffer* out, abi::Status* status) noexcept {
  const char* fault = "tflms left the graph as it was";
  try {
    const std::string_view graph(static_cast<const char*>(in->data), in->length);
    std::optional<std::string> bytes = Run(graph, item);
    if (bytes.has_value()) {
      Hand(std::move(*bytes), state_, out);
      state_->GetTfApi().set_status(status, abi::kOk, "");
      return;
    }
  } catch (const std::exception& exception) {
    Log(LogLevel::kWarning, LogLevel::kWarning, exception.what());
    fault = "tflms stopped by an exception and left the graph as it was";
  } catch (...) {
    fault = "tflms stopped by an unknown exception and left the graph as it was";
  }
  state_->GetTfApi().set_status(status, abi::kAborted, fault);
}

std::optional<std::string> GraphOptimizer::Run(std::string_view graph,
                                               const abi::GrapplerItem* item) {
  ++passes_;
  const Result<Settings> settings = state_->GetSettings();
  if (!settings.ok()) return std::nullopt;
  if (!settings->on) {
    if (state_->watches_costs()) NoteCosts(settings->options, graph, item);
    return std::nullopt;
  }
  if (WaitForSecondPass(graph)) return std::nullopt;
  return RewriteGraph(settings->options, graph, item);
}

void GraphOptimizer::NoteCosts(const Options& options, std::string_view graph,
                               const abi::GrapplerItem* item) {
  const Result<ImportContext> context =
      ReadContext(state_->GetTfApi(), options, ParseLogLevel(options.log_level), graph, item);
  if (!context.ok()) return;
  const Result<std::string> table = CostTableOfGraphDef(options, graph, *context);
  if (table.ok()) state_->AddCostTable("not rewritten", *table);
}

bool GraphOptimizer::WaitForSecondPass(std::string_view graph) {
  waiting_nodes_ = 0;
  if (passes_ != 1 || state_->single_pass_seen()) return false;
  const auto names = NodeNames(graph);
  if (names.ok()) waiting_nodes_ = static_cast<int64_t>(names->size());
  return true;
}

std::optional<std::string> GraphOptimizer::RewriteGraph(const Options& options,
                                                        std::string_view graph,
                                                        const abi::GrapplerItem* item) {
  const Clock::time_point start = Clock::now();
  const LogLevel threshold = ParseLogLevel(options.log_level);
  const int64_t number = state_->CountGraph();
  const bool dump = !options.dump_dir.empty();
  // Before anything else, so that the graph is there whatever happens next.
  if (dump) LogFault(threshold, DumpInput(options.dump_dir, number, graph));
  const bool learns = options.feedback == "yes";
  const Corrections corrections = learns ? state_->LearnCorrections() : Corrections();
  OptimizedGraph result =
      OptimizeOrDecline(state_->GetTfApi(), options, corrections, number, graph, item);
  if (learns && result.changed) state_->ExpectRuns(result.expected);
  for (Report& report : result.reports) report.time_us = MicrosecondsSince(start);
  if (!result.reports.empty() && state_->TakeFirstReport()) {
    result.reports.front().notes.push_back(DescribePassSwitches(options.device_type));
  }
  for (const Report& report : result.reports) Keep(state_, threshold, report);
  state_->AddCostTable("graph " + std::to_string(number), result.cost_table);
  if (dump) LogFault(threshold, DumpResult(options.dump_dir, number, result));
  if (!result.changed) return std::nullopt;
  return std::move(result.bytes);
}

void GraphOptimizer::Finish() noexcept {
  if (waiting_nodes_ < kGrapplerMinNodes) return;
  try {
    state_->SetSinglePassSeen();
    const Result<Settings> settings = state_->GetSettings();
    if (!settings.ok() || !settings->on) return;
    Report report =
        DeclinedReport("graph " + std::to_string(state_->CountGraph()), kSinglePassReason);
    report.nodes = waiting_nodes_;
    Keep(state_, ParseLogLevel(settings->options.log_level), report);
  } catch (const std::exception& exception) {
    Log(LogLevel::kWarning, LogLevel::kWarning, exception.what());
  }
}

}  // namespace tflms
