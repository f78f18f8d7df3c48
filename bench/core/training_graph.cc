// SPDX-License-Identifier: Apache-2.0
//
// The generator of training steps. See training_graph.h.

#include "bench/core/training_graph.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tflms {
namespace {

constexpr int32_t kWidth = 4;   // units of a block
constexpr int32_t kStages = 4;  // with ever smaller tensors
constexpr int32_t kNodesPerBlock = 17 * kWidth + 1;

OutputInfo Float(std::vector<int64_t> extents) {
  OutputInfo out;
  out.type.dtype = DataType::kFloat32;
  out.type.shape = Shape::Known(std::move(extents));
  return out;
}

OutputInfo Persistent(OutputInfo out) {
  out.persistent = true;
  return out;
}

OutputInfo InPlace(OutputInfo out) {
  out.may_reuse = 0;
  return out;
}

// A variable: its handle and the one read of it.
struct Variable {
  NodeId handle = kNoNode;
  Input value;
  std::vector<int64_t> extents;
};

struct Unit {
  Variable kernel, gamma, beta;
  NodeId conv = kNoNode, norm = kNoNode, relu = kNoNode;
};

struct Block {
  Input in;
  std::vector<Unit> units;
};

struct Stage {
  int64_t side = 0, channels = 0;
  Variable down;  // of the convolution at its start; none in the first stage
  Input before;   // what that convolution reads
  std::vector<Block> blocks;
};

class Generator {
 public:
  explicit Generator(int32_t nodes) : blocks_per_stage_(BlocksPerStage(nodes)) {}

  Graph Run() {
    graph_.devices = {{"/job:localhost/replica:0/task:0/device:GPU:0", DeviceKind::kAccelerator, 1},
                      {"/job:localhost/replica:0/task:0/device:CPU:0", DeviceKind::kHost}};
    rate_ = {Add("rate", "Const", {}, {Persistent(Float({}))}, kSource)};
    Input at = {Add("batch", "Placeholder", {}, {Image(kFirstSide, kFirstChannels)}, kSource)};
    for (int32_t stage = 0; stage < kStages; ++stage) at = ForwardStage(stage, at);
    const OutputInfo image = graph_.output(at);
    Add("loss", "L2Loss", {at}, {Float({})}, kPreserved);
    Input gradient = {Add("grad/loss", "Mul", {at, rate_}, {image})};
    for (int32_t stage = kStages - 1; stage >= 0; --stage)
      gradient = BackwardStage(stage, gradient);
    graph_.node(Add("done", "NoOp", {}, {}, kPreserved)).control_inputs = updates_;
    return std::move(graph_);
  }

 private:
  static constexpr int64_t kBatch = 8, kFirstSide = 56, kFirstChannels = 64;

  static int32_t BlocksPerStage(int32_t nodes) {
    return std::max(1, (nodes + kStages * kNodesPerBlock / 2) / (kStages * kNodesPerBlock));
  }

  static OutputInfo Image(int64_t side, int64_t channels) {
    return Float({kBatch, side, side, channels});
  }

  NodeId Add(std::string name, std::string op, std::vector<Input> inputs,
             std::vector<OutputInfo> outputs, uint32_t flags = 0) {
    Node& node = graph_.nodes.emplace_back();
    node.name = std::move(name);
    node.op = std::move(op);
    node.device = 0;
    node.flags = flags;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    return graph_.size() - 1;
  }

  Variable AddVariable(const std::string& name, const std::vector<int64_t>& extents) {
    OutputInfo handle;
    handle.type.dtype = DataType::kResource;
    handle.type.shape = Shape::Known({});
    handle.host_memory = true;
    handle.persistent = true;
    const OutputInfo value = Persistent(Float(extents));
    Variable variable;
    variable.extents = extents;
    variable.handle = Add(name, "VarHandleOp", {}, {handle}, kParameterised);
    graph_.node(variable.handle).state_bytes = SizeBytes(value.type).value_or(0);
    variable.value = {
        Add(name + "/Read", "ReadVariableOp", {{variable.handle}}, {value}, kParameterised)};
    return variable;
  }

  Input ForwardStage(int32_t number, Input at) {
    Stage& stage = stages_.emplace_back();
    stage.side = kFirstSide >> number;
    stage.channels = kFirstChannels << number;
    const std::string name = "stage" + std::to_string(number);
    if (number > 0) {
      stage.before = at;
      stage.down = AddVariable(name + "/down", {1, 1, stage.channels / 2, stage.channels});
      at = {Add(name + "/Conv2D", "Conv2D", {at, stage.down.value},
                {Image(stage.side, stage.channels)})};
    }
    for (int32_t block = 0; block < blocks_per_stage_; ++block) {
      at = ForwardBlock(name + "/block" + std::to_string(block), at, &stage);
    }
    return at;
  }

  Input ForwardBlock(const std::string& name, Input at, Stage* stage) {
    Block block;
    block.in = at;
    Input sum = at;
    for (int32_t number = 0; number < kWidth; ++number) {
      const std::string unit_name = name + "/unit" + std::to_string(number);
      block.units.push_back(ForwardUnit(unit_name, at, *stage));
      OutputInfo image = Image(stage->side, stage->channels);
      image.may_reuse = kReuseAny;
      sum = {Add(unit_name + "/AddV2", "AddV2", {sum, {block.units.back().relu}}, {image})};
    }
    stage->blocks.push_back(std::move(block));
    return sum;
  }

  Unit ForwardUnit(const std::string& name, Input at, const Stage& stage) {
    const OutputInfo image = Image(stage.side, stage.channels);
    const OutputInfo each = Float({stage.channels});
    Unit unit;
    unit.kernel = AddVariable(name + "/kernel", {3, 3, stage.channels, stage.channels});
    unit.gamma = AddVariable(name + "/gamma", {stage.channels});
    unit.beta = AddVariable(name + "/beta", {stage.channels});
    unit.conv = Add(name + "/Conv2D", "Conv2D", {at, unit.kernel.value}, {image});
    unit.norm = Add(name + "/FusedBatchNormV3", "FusedBatchNormV3",
                    {{unit.conv}, unit.gamma.value, unit.beta.value},
                    {image, each, each, each, each, Float({0})});
    unit.relu = Add(name + "/Relu", "Relu", {{unit.norm}}, {InPlace(image)});
    return unit;
  }

  Input BackwardStage(int32_t number, Input gradient) {
    const Stage& stage = stages_[static_cast<size_t>(number)];
    const std::string name = "grad/stage" + std::to_string(number);
    for (size_t block = stage.blocks.size(); block-- > 0;) {
      gradient = BackwardBlock(name + "/block" + std::to_string(block), gradient, stage,
                               stage.blocks[block]);
    }
    if (number == 0) return gradient;
    const std::vector<int64_t> below = graph_.output(stage.before).type.shape.extents;
    Update(name + "/down", stage.down, stage.before, gradient);
    return {Add(name + "/Conv2DBackpropInput", "Conv2DBackpropInput", {stage.down.value, gradient},
                {Float(below)})};
  }

  Input BackwardBlock(const std::string& name, Input gradient, const Stage& stage,
                      const Block& block) {
    std::vector<Input> sum = {gradient};
    for (size_t unit = block.units.size(); unit-- > 0;) {
      sum.push_back(BackwardUnit(name + "/unit" + std::to_string(unit), gradient, stage, block.in,
                                 block.units[unit]));
    }
    return {Add(name + "/AddN", "AddN", std::move(sum), {Image(stage.side, stage.channels)})};
  }

  Input BackwardUnit(const std::string& name, Input gradient, const Stage& stage, Input in,
                     const Unit& unit) {
    const OutputInfo image = Image(stage.side, stage.channels);
    const OutputInfo each = Float({stage.channels}), none = Float({0});
    const NodeId relu =
        Add(name + "/ReluGrad", "ReluGrad", {gradient, {unit.relu}}, {InPlace(image)});
    const NodeId norm =
        Add(name + "/FusedBatchNormGradV3", "FusedBatchNormGradV3",
            {{relu}, {unit.conv}, unit.gamma.value, {unit.norm, 3}, {unit.norm, 4}, {unit.norm, 5}},
            {image, each, each, none, none});
    Apply(name + "/gamma", unit.gamma, {norm, 1});
    Apply(name + "/beta", unit.beta, {norm, 2});
    Update(name + "/kernel", unit.kernel, in, {norm});
    return {Add(name + "/Conv2DBackpropInput", "Conv2DBackpropInput", {unit.kernel.value, {norm}},
                {image})};
  }

  // The gradient of a convolution's kernel, and its update.
  void Update(const std::string& name, const Variable& kernel, Input in, Input gradient) {
    const NodeId filter = Add(name + "/Conv2DBackpropFilter", "Conv2DBackpropFilter",
                              {in, gradient}, {Float(kernel.extents)});
    Apply(name, kernel, {filter});
  }

  void Apply(const std::string& name, const Variable& variable, Input gradient) {
    updates_.push_back(Add(name + "/update", "ResourceApplyGradientDescent",
                           {{variable.handle, 0, EdgeAction::kUpdate}, rate_, gradient}, {},
                           kParameterised | kSideEffect));
  }

  const int32_t blocks_per_stage_;
  Graph graph_;
  std::vector<Stage> stages_;
  std::vector<NodeId> updates_;
  Input rate_;
};

}  // namespace

Graph TrainingGraph(int32_t nodes) { return Generator(nodes).Run(); }

}  // namespace tflms
