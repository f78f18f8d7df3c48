// SPDX-License-Identifier: Apache-2.0
//
// Clones as ops of their own. See clones.h.

#include "src/sim/clones.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Expander {
 public:
  Expander(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}

  Expansion Run() {
    out_.problem = problem_;
    out_.original.resize(problem_.buffers.size());
    for (size_t id = 0; id < out_.original.size(); ++id) {
      out_.original[id] = static_cast<BufferId>(id);
    }
    out_.clone.assign(problem_.buffers.size(), -1);
    AddOps();
    AddBuffers();
    AddReads();
    AddEdges();
    for (std::vector<OpId>& next : out_.problem.successors) SortUnique(&next);
    for (ProblemBuffer& buffer : out_.problem.buffers) {
      SortUnique(&buffer.uses);
      SortUnique(&buffer.holds);
    }
    return std::move(out_);
  }

 private:
  static void SortUnique(std::vector<OpId>* ids) {
    std::sort(ids->begin(), ids->end());
    ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
  }

  OpId CloneOp(size_t clone) const { return static_cast<OpId>(problem_.ops.size() + clone); }

  // The op whose edges and reads `reader` has: the source of a clone, else itself.
  OpId SourceOf(OpId reader) const {
    const size_t n = problem_.ops.size();
    return Index(reader) < n ? reader : plan_.clones[Index(reader) - n];
  }

  void AddOps() {
    for (OpId source : plan_.clones) {
      ProblemOp op = problem_.ops[Index(source)];
      op.group = 0;
      out_.problem.ops.push_back(op);
      out_.problem.successors.emplace_back();
    }
  }

  void AddBuffers() {
    std::vector<std::vector<BufferId>> made(problem_.ops.size());
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      made[Index(problem_.buffers[id].producer)].push_back(static_cast<BufferId>(id));
    }
    for (size_t clone = 0; clone < plan_.clones.size(); ++clone) {
      for (BufferId id : made[Index(plan_.clones[clone])]) {
        const ProblemBuffer& first = problem_.buffers[Index(id)];
        made_by_[{id, static_cast<int32_t>(clone)}] =
            static_cast<BufferId>(out_.problem.buffers.size());
        ProblemBuffer& again = out_.problem.buffers.emplace_back();
        again.size_bytes = first.size_bytes;
        again.producer = CloneOp(clone);
        again.swappable = first.swappable;
        again.may_reuse = first.may_reuse;
        out_.original.push_back(id);
        out_.clone.push_back(static_cast<int32_t>(clone));
      }
    }
  }

  // The buffer that `reader` reads as `buffer`.
  BufferId ReadBy(OpId reader, BufferId buffer) const {
    const CloneRead wanted{buffer, reader, -1};
    const auto at =
        std::lower_bound(plan_.clone_reads.begin(), plan_.clone_reads.end(), wanted,
                         [](const CloneRead& a, const CloneRead& b) {
                           return std::pair(a.buffer, a.reader) < std::pair(b.buffer, b.reader);
                         });
    if (at == plan_.clone_reads.end() || at->buffer != buffer || at->reader != reader)
      return buffer;
    return made_by_.at({buffer, at->clone});
  }

  void AddReads() {
    std::vector<std::vector<BufferId>> reads(problem_.ops.size());
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      const ProblemBuffer& buffer = problem_.buffers[id];
      for (OpId use : buffer.uses) reads[Index(use)].push_back(static_cast<BufferId>(id));
      std::erase_if(out_.problem.buffers[id].uses, [&](OpId use) {
        return ReadBy(use, static_cast<BufferId>(id)) != static_cast<BufferId>(id);
      });
      std::erase_if(out_.problem.buffers[id].holds, [&](OpId hold) {
        return ReadBy(hold, static_cast<BufferId>(id)) != static_cast<BufferId>(id);
      });
    }
    for (const CloneRead& read : plan_.clone_reads) {
      if (Index(read.reader) < problem_.ops.size()) AddUse(read.reader, read.buffer);
    }
    for (size_t clone = 0; clone < plan_.clones.size(); ++clone) {
      for (BufferId id : reads[Index(plan_.clones[clone])]) AddUse(CloneOp(clone), id);
    }
    for (size_t id = problem_.buffers.size(); id < out_.problem.buffers.size(); ++id) {
      ProblemBuffer& again = out_.problem.buffers[id];
      for (BufferId& giver : again.may_reuse) giver = ReadBy(again.producer, giver);
    }
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      ProblemBuffer& first = out_.problem.buffers[id];
      for (BufferId& giver : first.may_reuse) giver = ReadBy(first.producer, giver);
    }
  }

  void AddUse(OpId reader, BufferId buffer) {
    const BufferId read = ReadBy(reader, buffer);
    ProblemBuffer& out = out_.problem.buffers[Index(read)];
    out.uses.push_back(reader);
    out_.problem.successors[Index(out.producer)].push_back(reader);
    const std::vector<OpId>& holds = problem_.buffers[Index(buffer)].holds;
    if (std::find(holds.begin(), holds.end(), SourceOf(reader)) != holds.end()) {
      out.holds.push_back(reader);
    }
  }

  void AddEdges() {
    std::map<OpId, std::vector<OpId>> clones_of;
    for (size_t clone = 0; clone < plan_.clones.size(); ++clone) {
      clones_of[plan_.clones[clone]].push_back(CloneOp(clone));
    }
    for (size_t from = 0; from < problem_.ops.size(); ++from) {
      for (OpId to : problem_.successors[from]) {
        const auto found = clones_of.find(to);
        if (found == clones_of.end()) continue;
        auto& next = out_.problem.successors[from];
        next.insert(next.end(), found->second.begin(), found->second.end());
      }
    }
    for (const auto& [reader, writer] : problem_.writes_after_reads) {
      const auto found = clones_of.find(reader);
      if (found == clones_of.end()) continue;
      for (OpId clone : found->second) out_.problem.successors[Index(clone)].push_back(writer);
    }
    for (const auto& [source, clones] : clones_of) {
      for (OpId clone : clones) out_.problem.successors[Index(source)].push_back(clone);
    }
  }

  const Problem& problem_;
  const Plan& plan_;
  std::map<std::pair<BufferId, int32_t>, BufferId> made_by_;  // (original, clone) -> expanded
  Expansion out_;
};

}  // namespace

Expansion Expand(const Problem& problem, const Plan& plan) { return Expander(problem, plan).Run(); }

std::string CheckClones(const Problem& problem, const Plan& plan) {
  const size_t n = problem.ops.size();
  if (!plan.clones.empty() && !plan.pin_order) return "clone-legal: clones need a pinned order";
  for (size_t i = 0; i < plan.clones.size(); ++i) {
    const OpId source = plan.clones[i];
    const bool exists = source >= 0 && Index(source) < n;
    if (!exists || !problem.ops[Index(source)].repeatable) {
      return "clone-legal: clone " + std::to_string(i) + " is of op " + std::to_string(source) +
             ", which may not run again";
    }
  }
  for (size_t i = 0; i < plan.clone_reads.size(); ++i) {
    const CloneRead& read = plan.clone_reads[i];
    const std::string where =
        "clone-read: op " + std::to_string(read.reader) + ", buffer " + std::to_string(read.buffer);
    const bool known = read.buffer >= 0 && Index(read.buffer) < problem.buffers.size() &&
                       read.reader >= 0 && Index(read.reader) < n + plan.clones.size() &&
                       read.clone >= 0 && Index(read.clone) < plan.clones.size();
    if (!known) return where + ": not all of these exist";
    const ProblemBuffer& buffer = problem.buffers[Index(read.buffer)];
    if (plan.clones[Index(read.clone)] != buffer.producer || !buffer.recomputable) {
      return where + ": its clone does not make it again";
    }
    const OpId source = Index(read.reader) < n ? read.reader : plan.clones[Index(read.reader) - n];
    if (!std::binary_search(buffer.uses.begin(), buffer.uses.end(), source)) {
      return where + ": does not read it";
    }
    if (i == 0) continue;
    const CloneRead& before = plan.clone_reads[i - 1];
    if (std::pair(before.buffer, before.reader) >= std::pair(read.buffer, read.reader)) {
      return where + ": not in order, or twice";
    }
  }
  return "";
}

}  // namespace tflms
