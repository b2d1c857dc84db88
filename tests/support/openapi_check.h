// Is a reply of the API what the OpenAPI document says? Every key that the document requires must be there, every key
// that is there must be described, and every value must have its type. Also counts which routes were asked.
#pragma once
#include <gtest/gtest.h>

#include <set>

#include "http/api_routes.h"
#include "http/http_types.h"
#include "http/openapi.h"

namespace smartmig {

class OpenapiCheck {
 public:
  // Adds a failure for each thing that does not fit.
  void reply(const std::string& method, const std::string& path, const HttpReply& reply) {
    const RouteMatch match = match_route(method, path);
    ASSERT_TRUE(match.route) << method << " " << path;
    const Json& operation = document_["paths"][match.route->pattern][lower_case(method)];
    const std::string status = std::to_string(reply.status);
    const bool good = operation["responses"].contains(status);
    EXPECT_TRUE(good || reply.status >= 400) << method << " " << path << ": " << status << " is not in the document";
    if (good) answered_.insert(match.route->call);
    const Json& content = operation["responses"][good ? status : "default"]["content"];
    const std::string type = reply.type.substr(0, reply.type.find(';'));
    ASSERT_TRUE(content.contains(type)) << method << " " << path << ": " << reply.type << ", not " << content.dump();
    if (type != "application/json") return;
    const Json body = Json::parse(reply.body, nullptr, false);
    ASSERT_FALSE(body.is_discarded()) << method << " " << path << ": " << reply.body;
    std::string why;
    EXPECT_TRUE(fits(body, content[type]["schema"], "", why)) << method << " " << path << ":" << why << "\n"
                                                              << reply.body.substr(0, 2000);
  }
  // Fails for each route that gave no good answer so far, but for these.
  void expect_answers_of_all(const std::set<ApiCall>& but_for = {}) const {
    for (const ApiRoute& route : api_routes())
      EXPECT_TRUE(answered_.count(route.call) || but_for.count(route.call)) << route.method << " " << route.pattern;
  }
  bool fits(const Json& value, const Json& schema, const std::string& at, std::string& why) const {
    if (schema.contains("$ref")) {
      const std::string ref = schema["$ref"];
      return fits(value, document_["components"]["schemas"][ref.substr(ref.rfind('/') + 1)], at, why);
    }
    if (schema.contains("oneOf")) {
      std::string reasons;
      for (const Json& one : schema["oneOf"]) {
        std::string reason;
        if (fits(value, one, at, reason)) return true;
        if (one != Json{{"type", "null"}} || value.is_null()) reasons += reason;
      }
      why += reasons;
      return false;
    }
    const Json& type = schema["type"];
    const std::vector<std::string> types =
        type.is_array() ? type.get<std::vector<std::string>>() : std::vector<std::string>{type};
    bool known = false;
    for (const std::string& one : types) known |= is_a(value, one);
    if (!known) {
      why += "\n  " + at + " is " + value.dump().substr(0, 60) + ", not " + type.dump();
      return false;
    }
    bool good = true;
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i)
        good &= fits(value[i], schema["items"], at + "[" + std::to_string(i) + "]", why);
    if (value.is_object() && schema.contains("properties") && !schema["properties"].empty()) {
      for (const auto& [key, one] : value.items()) {
        if (schema["properties"].contains(key)) {
          good &= fits(one, schema["properties"][key], at + "." + key, why);
        } else {
          why += "\n  " + at + "." + key + " is not described";
          good = false;
        }
      }
      for (const Json& key : schema.value("required", Json::array()))
        if (!value.contains(key.get<std::string>())) {
          why += "\n  " + at + "." + key.get<std::string>() + " is missing";
          good = false;
        }
    }
    return good;
  }

 private:
  static bool is_a(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "array") return value.is_array();
    return type == "object" && value.is_object();
  }
  static std::string lower_case(std::string text) {
    for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  const Json document_ = openapi_document("1.2.3");
  std::set<ApiCall> answered_;
};

}  // namespace smartmig
