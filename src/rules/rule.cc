// SPDX-License-Identifier: Apache-2.0
//
// The catalog of rules: the running order and nothing else. To add a rule, write its file and add
// one line here.

#include "src/rules/rule.h"

#include <algorithm>
#include <array>

#define TFLMS_RULES(rule)                                                         \
  rule(RecomputeRule) rule(SwapRule) rule(FuseSwapOutsRule) rule(FuseSwapInsRule) \
      rule(TriggerRule) rule(SyncRule) rule(SerialiseRule)

namespace tflms {

#define TFLMS_DECLARE_RULE(function) RuleEntry function();
TFLMS_RULES(TFLMS_DECLARE_RULE)
#undef TFLMS_DECLARE_RULE

std::span<const RuleEntry> RuleCatalog() {
#define TFLMS_LIST_RULE(function) function(),
  static const auto kCatalog = std::to_array<RuleEntry>({TFLMS_RULES(TFLMS_LIST_RULE)});
#undef TFLMS_LIST_RULE
  return kCatalog;
}

const RuleEntry* FindRule(std::string_view name) {
  const auto catalog = RuleCatalog();
  const auto found = std::find_if(catalog.begin(), catalog.end(),
                                  [&](const RuleEntry& entry) { return entry.name == name; });
  return found == catalog.end() ? nullptr : &*found;
}

}  // namespace tflms
