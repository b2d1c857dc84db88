// The OpenAPI 3.1 description of the API, made from the table of routes; the shapes of bodies and answers are listed
// here.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace smartmig {

nlohmann::json openapi_document(const std::string& version);

}  // namespace smartmig
