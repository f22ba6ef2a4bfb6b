#pragma once
// A schema registry with Confluent's API: Confluent, Apicurio (/apis/ccompat/v7), Karapace, Redpanda.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/schema/record_schema.h"

namespace doppel {

struct RegistryOptions {
  std::vector<std::string> urls;  // of one registry, tried in this order
  std::string credentials_file;   // "user:password"; read for each request, so it may change
  std::string ca_file;            // empty: the system's authorities
  int64_t timeout_ms = 10'000;    // of a request
  std::string type = "AVRO";      // of the schemas
};

// One thread may use it at a time.
class SchemaRegistry {
 public:
  virtual ~SchemaRegistry() = default;
  // NotFound: the registry has no schema with this id. InvalidArgument: it has one that cannot be used. Any
  // other error: the registry did not answer; ask again. Messages name the address and the cause, and the
  // setting if one may be wrong.
  virtual absl::StatusOr<std::shared_ptr<const RecordSchema>> schema(uint32_t id) = 0;
  // Checks that a registry answers. Returns a line that says so.
  virtual absl::StatusOr<std::string> reach() = 0;
};

// If `cancel` becomes true, the present request ends with an error.
std::unique_ptr<SchemaRegistry> make_http_registry(RegistryOptions options,
                                                   std::shared_ptr<const std::atomic<bool>> cancel);

}  // namespace doppel
