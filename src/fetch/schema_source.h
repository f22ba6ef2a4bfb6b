#pragma once
// Gives records their schemas from a registry (Record::schema). The order and everything else about the
// source stay the same.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/schema/schema_decoder.h"
#include "pipeline/stream.h"

namespace doppel {

// A schema registry with Confluent's API: Confluent, Apicurio (/apis/ccompat/v7), Karapace, Redpanda.
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

struct SchemaStats {
  std::atomic<uint64_t> found = 0, unknown = 0, unusable = 0;  // requests, by the registry's answer
  std::atomic<uint64_t> failed = 0;   // requests without an answer, which are repeated
  std::atomic<bool> waiting = false;  // the stream waits for the registry
};

struct SchemaSourceOptions {
  int64_t pause_ms = 500;  // between two requests to a registry that is away; doubled up to 10 s
  int64_t remembered_unknown_ms = 10'000;  // how long an unknown id stays unknown without a request
};

class SchemaSource : public Source {
 public:
  virtual std::shared_ptr<const SchemaStats> stats() const = 0;
};

// next() returns after at most 0.1 s like a live source. While the registry does not answer, it hands nothing
// on, and the log says so. Records with an id that is unknown, or whose schema cannot be used, get a schema
// that refuses them. `inner` must outlive the result. The destructor sets `cancel`.
std::unique_ptr<SchemaSource> make_schema_source(Source& inner, std::unique_ptr<SchemaRegistry> registry,
                                                 std::shared_ptr<std::atomic<bool>> cancel,
                                                 const SchemaSourceOptions& options = {});

}  // namespace doppel
