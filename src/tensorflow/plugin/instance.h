// SPDX-License-Identifier: Apache-2.0
//
// One optimizer object: one run of Grappler's meta-optimizer over one graph.
//
// Grappler goes over a graph twice (RewriterConfig.meta_optimizer_iterations), all passes in order,
// plugins last, with the same optimizer object both times. tflms rewrites in the second pass:
// then every other pass has seen just the graph it would have seen without tflms, the plan is made
// for the graph that runs, and nothing of ours can be undone or hinder a fusion. So the graph that
// runs is the one without tflms plus our nodes and edges, nothing else.
//
// Where Grappler is set to a single pass, the object ends after one call. That is seen once,
// reported, and from then on graphs are rewritten in their first pass; a second pass, should it
// come, finds our nodes and leaves the graph alone.

#ifndef TFLMS_TENSORFLOW_PLUGIN_INSTANCE_H_
#define TFLMS_TENSORFLOW_PLUGIN_INSTANCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/tensorflow/plugin/grappler_abi.h"
#include "src/tensorflow/plugin/state.h"
#include "tflms/options.h"

namespace tflms {

class GraphOptimizer {
 public:
  explicit GraphOptimizer(PluginState* state) : state_(state) {}

  // The plugin's optimize function: `in` is the graph, `out` an empty buffer, `status` becomes
  // kOk with the new graph in `out`, or kAborted, by which TensorFlow keeps the graph as it is.
  // No other status, and no exception, ever leaves this function.
  void Optimize(const abi::Buffer* in, const abi::GrapplerItem* item, abi::Buffer* out,
                abi::Status* status) noexcept;

  // To be called when TensorFlow is done with the object.
  void Finish() noexcept;

 private:
  std::optional<std::string> Run(std::string_view graph, const abi::GrapplerItem* item);
  std::optional<std::string> RewriteGraph(const Options& options, std::string_view graph,
                                          const abi::GrapplerItem* item);
  // Keeps the graph's table of costs; a graph that cannot be read has none.
  void NoteCosts(const Options& options, std::string_view graph, const abi::GrapplerItem* item);
  bool WaitForSecondPass(std::string_view graph);

  PluginState* state_;
  int passes_ = 0;
  int64_t waiting_nodes_ = 0;  // nodes of a graph whose second pass is awaited
};

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_INSTANCE_H_
