#include "fetch/configured.h"

#include <utility>

#include "base/status.h"

namespace doppel {

RegistryOptions registry_options(const Options& o) {
  return {.urls = o.schema_registry.url,
          .credentials_file = o.schema_registry.credentials_file,
          .ca_file = o.schema_registry.ca_file,
          .timeout_ms = o.schema_registry.timeout_ms};
}

std::unique_ptr<SchemaSource> schemas_from(Source& inner, const Options& o) {
  if (!needs_registry(o.input)) return nullptr;
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<SchemaRegistry> registry = make_http_registry(registry_options(o), cancel);
  return make_schema_source(inner, std::move(registry), std::move(cancel));
}

FetchOptions fetch_options(const Options& o, std::function<bool()> stop) {
  return {.roots = o.warc_roots,
          .cdxj = o.warc_cdxj,
          .parallel = o.fetch_parallel,
          .max_wait_ms = o.fetch_max_wait_ms,
          .root = {.max_bytes = o.input.max_bytes, .timeout_ms = o.fetch_timeout_ms, .cancel = {}},
          .format = o.input,
          .stop = std::move(stop)};
}

absl::StatusOr<std::unique_ptr<FetchSource>> fetch_from(Source& inner, FetchOptions options,
                                                        const Engine& engine) {
  if (!fetches(options)) return nullptr;
  auto signer = std::make_shared<Signer>(engine.make_signer());
  options.knows_payload = [signer, &engine](const Document& document) {
    return engine.knows_payload(signer->payload(document.payload_digest, document.scope));
  };
  return make_fetch_source(inner, options);
}

std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>&)> late_reader(
    FetchSource* fetching) {
  if (fetching == nullptr) return {};
  return [fetching](Record& record, std::vector<std::shared_ptr<const void>>& memory) {
    return fetching->read_now(record, memory);
  };
}

}  // namespace doppel
