#pragma once
// Parses the answers of a schema registry with Confluent's API.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel {

struct RegistryAnswer {
  struct Reference {  // to another schema
    std::string name, subject;
    int64_t version = 0;
  };
  std::string schema;
  std::string type = "AVRO";  // AVRO, JSON, PROTOBUF
  std::vector<Reference> references;
};

// The body of GET /schemas/ids/ID and GET /subjects/SUBJECT/versions/VERSION.
absl::StatusOr<RegistryAnswer> parse_registry_answer(std::string_view body);

// An error that a registry answered: "error_code" and "message"; code 0 if the body is not an error.
struct RegistryError {
  int64_t code = 0;
  std::string message;
};
RegistryError parse_registry_error(std::string_view body);

}  // namespace doppel
