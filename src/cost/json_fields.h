// SPDX-License-Identifier: Apache-2.0
//
// Reading the fields of a JSON object with messages that name the key, what is expected and what
// was found. For the files of this layer.

#ifndef TFLMS_COST_JSON_FIELDS_H_
#define TFLMS_COST_JSON_FIELDS_H_

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tflms/status.h"

namespace tflms {

// The object that `text` is. An error says where the text stops being JSON.
Result<nlohmann::json> ParseObject(std::string_view text);

// "key `x`: expected a number, found ...": a fault at a key.
Status BadField(const std::string& key, const std::string& expected, const nlohmann::json& found);

// An error that names the first key that is not in `allowed`.
Status CheckKeys(const nlohmann::json& object, const std::string& where,
                 std::initializer_list<std::string_view> allowed);

// Sets `value` from object[key] when it is there: a number from low to high, or a text of at most
// 1,000 bytes. `path` is the key's name in messages.
Status ReadNumber(const nlohmann::json& object, const char* key, const std::string& path,
                  double low, double high, double* value);
Status ReadText(const nlohmann::json& object, const char* key, const std::string& path,
                std::string* value);

}  // namespace tflms

#endif  // TFLMS_COST_JSON_FIELDS_H_
