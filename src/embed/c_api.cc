// The index for C: each function calls one of doppel/index.h.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "doppel/doppel.h"
#include "doppel/index.h"

struct doppel_index {
  std::unique_ptr<doppel::Index> index;
};

namespace doppel {
namespace {

void set_error(char** error, std::string_view message) {
  if (error == nullptr) return;
  *error = static_cast<char*>(std::malloc(message.size() + 1));
  if (*error == nullptr) return;
  std::memcpy(*error, message.data(), message.size());
  (*error)[message.size()] = '\0';
}

void set_error(char** error, const absl::Status& status) { set_error(error, std_sv(status.message())); }

template <typename Value>
std::optional<Value> unless_zero(Value value) {
  return value == Value() ? std::nullopt : std::optional(value);
}

Index::Options options_of(const doppel_options* given) {
  Index::Options out;
  if (given == nullptr) return out;
  out.threshold = unless_zero(given->threshold);
  out.recall = unless_zero(given->recall);
  out.num_perm = unless_zero(given->num_perm);
  out.bands = unless_zero(given->bands);
  out.rows = unless_zero(given->rows);
  out.shingle_words = unless_zero(given->shingle_words);
  if (given->verify_by_signature != 0) out.verify_by_signature = true;
  out.max_listed = unless_zero(given->max_listed);
  out.max_checks = unless_zero(given->max_checks);
  out.expire_after_ms = unless_zero(given->expire_after_ms);
  if (given->hash_key != nullptr) out.hash_key = given->hash_key;
  if (given->shards != 0) out.shards = given->shards;
  out.threads = given->threads;
  out.create_if_missing = given->must_exist == 0;
  return out;
}

std::string_view view(const char* data, size_t size) { return size == 0 ? "" : std::string_view(data, size); }

std::vector<Index::Document> documents_of(const doppel_document* documents, size_t count) {
  std::vector<Index::Document> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const doppel_document& d = documents[i];
    out.push_back({.id = view(d.id, d.id_size),
                   .text = view(d.text, d.text_size),
                   .scope = view(d.scope, d.scope_size)});
    if (d.has_timestamp != 0) out.back().timestamp_ms = d.timestamp_ms;
  }
  return out;
}

int verdict_of(Verdict verdict) {
  return verdict == Verdict::unique      ? DOPPEL_UNIQUE
         : verdict == Verdict::duplicate ? DOPPEL_DUPLICATE
                                         : DOPPEL_UNSCORED;
}

int kind_of(Kind kind) {
  switch (kind) {
    case Kind::exact:
      return DOPPEL_EXACT;
    case Kind::near:
      return DOPPEL_NEAR;
    case Kind::contained:
      return DOPPEL_CONTAINED;
    case Kind::none:
      break;
  }
  return DOPPEL_NONE;
}

// The judgements, followed by the ids of originals, in one block of memory.
doppel_judgement* judgements_of(const absl::StatusOr<std::vector<Judgement>>& said, char** error) {
  if (!said.ok()) {
    set_error(error, said.status());
    return nullptr;
  }
  size_t ids = 0;
  for (const Judgement& each : *said) ids += each.duplicate_of.size() + 1;
  const size_t bytes = said->size() * sizeof(doppel_judgement) + ids + 1;
  auto* const out = static_cast<doppel_judgement*>(std::malloc(bytes));
  if (out == nullptr) {
    set_error(error, "out of memory");
    return nullptr;
  }
  char* id = reinterpret_cast<char*>(out + said->size());
  for (size_t i = 0; i < said->size(); ++i) {
    const Judgement& each = (*said)[i];
    out[i] = {.verdict = verdict_of(each.verdict),
              .kind = kind_of(each.kind),
              .similarity = each.similarity,
              .duplicate_of = nullptr,
              .duplicate_of_size = each.duplicate_of.size()};
    if (each.verdict != Verdict::duplicate) continue;
    std::memcpy(id, each.duplicate_of.c_str(), each.duplicate_of.size() + 1);
    out[i].duplicate_of = id;
    id += each.duplicate_of.size() + 1;
  }
  return out;
}

// Keeps exceptions out of C.
template <typename Call>
auto guarded(char** error, decltype(std::declval<Call>()()) otherwise, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    set_error(error, "out of memory");
  }
  return otherwise;
}

}  // namespace
}  // namespace doppel

using doppel::guarded;

const char* doppel_version() { return DOPPEL_VERSION_STRING; }

doppel_index* doppel_open(const char* directory, const doppel_options* options, char** error) {
  return guarded(error, nullptr, [&]() -> doppel_index* {
    auto index = doppel::Index::open(directory == nullptr ? "" : directory, doppel::options_of(options));
    if (index.ok()) return new doppel_index{*std::move(index)};
    doppel::set_error(error, index.status());
    return nullptr;
  });
}

void doppel_close(doppel_index* index) { delete index; }

doppel_judgement* doppel_insert(doppel_index* index, const doppel_document* documents, size_t count,
                                char** error) {
  return guarded(error, nullptr, [&] {
    return doppel::judgements_of(index->index->insert(doppel::documents_of(documents, count)), error);
  });
}

doppel_judgement* doppel_query(const doppel_index* index, const doppel_document* documents, size_t count,
                               char** error) {
  return guarded(error, nullptr, [&] {
    const doppel::Index& asked = *index->index;
    return doppel::judgements_of(asked.query(doppel::documents_of(documents, count)), error);
  });
}

int doppel_remove(doppel_index* index, const char* id, size_t id_size, char** error) {
  return guarded(error, -1, [&] {
    const absl::StatusOr<bool> any = index->index->remove(doppel::view(id, id_size));
    if (any.ok()) return *any ? 1 : 0;
    doppel::set_error(error, any.status());
    return -1;
  });
}

int doppel_save(doppel_index* index, char** error) {
  return guarded(error, -1, [&] {
    const absl::Status status = index->index->save();
    if (!status.ok()) doppel::set_error(error, status);
    return status.ok() ? 0 : -1;
  });
}

size_t doppel_size(const doppel_index* index) { return index->index->size(); }

void doppel_free(void* memory) { std::free(memory); }
