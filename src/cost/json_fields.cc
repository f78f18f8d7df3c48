// SPDX-License-Identifier: Apache-2.0
//
// See json_fields.h. O(size of the text).

#include "src/cost/json_fields.h"

#include <algorithm>
#include <charconv>

#include "src/base/text.h"

namespace tflms {
namespace {

constexpr size_t kMaxTextBytes = 1000;

// Shortest text of a number: "1e+12", "0.5".
std::string NumberText(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

// Counts no value: only where and why parsing stopped.
struct FaultFinder : nlohmann::json::json_sax_t {
  std::string fault;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    fault = "expected a JSON object; it is not JSON from byte " + std::to_string(position) + " on";
    return false;
  }
};

}  // namespace

Result<nlohmann::json> ParseObject(std::string_view text) {
  nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_object()) return object;
  if (!object.is_discarded()) {
    return InvalidArgument("expected a JSON object, found " + std::string(object.type_name()));
  }
  FaultFinder finder;
  nlohmann::json::sax_parse(text, &finder);
  return InvalidArgument(finder.fault);
}

Status BadField(const std::string& key, const std::string& expected, const nlohmann::json& found) {
  const std::string text = found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return InvalidArgument("key `" + key + "`: expected " + expected + ", found " + Quoted(text));
}

Status CheckKeys(const nlohmann::json& object, const std::string& where,
                 std::initializer_list<std::string_view> allowed) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    std::string names;
    for (std::string_view name : allowed) names += (names.empty() ? "" : ", ") + std::string(name);
    return InvalidArgument("key " + Quoted(where + key) + " is not known; expected " + names);
  }
  return Status();
}

Status ReadNumber(const nlohmann::json& object, const char* key, const std::string& path,
                  double low, double high, double* value) {
  const auto found = object.find(key);
  if (found == object.end()) return Status();
  const double number = found->is_number() ? found->get<double>() : low - 1;
  if (!(number >= low && number <= high)) {
    return BadField(path, "a number from " + NumberText(low) + " to " + NumberText(high), *found);
  }
  *value = number;
  return Status();
}

Status ReadText(const nlohmann::json& object, const char* key, const std::string& path,
                std::string* value) {
  const auto found = object.find(key);
  if (found == object.end()) return Status();
  if (!found->is_string() || found->get_ref<const std::string&>().size() > kMaxTextBytes) {
    return BadField(path, "a text of at most 1000 bytes", *found);
  }
  *value = found->get<std::string>();
  return Status();
}

}  // namespace tflms
