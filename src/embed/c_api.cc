// The index for C: each function calls one of doppel/index.h.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "doppel/doppel.h"
#include "doppel/index.h"

struct doppel_index {
  std::unique_ptr<doppel::Index> index;
};

struct doppel_options {
  doppel::Index::Options options;
};

struct doppel_judgements {
  std::vector<doppel::Judgement> judged;
  // The same for C; the pointers are into `judged` and `passages`.
  std::vector<doppel_judgement> judgements;
  std::vector<std::vector<doppel_related>> related;
  std::vector<doppel_passage> passages;
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

std::string_view view(const char* data, size_t size) { return size == 0 ? "" : std::string_view(data, size); }

absl::StatusOr<std::vector<Index::Document>> documents_of(const doppel_document* documents, size_t count) {
  std::vector<Index::Document> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    // The size that the program knows is also the distance between its documents.
    const auto* const at = reinterpret_cast<const char*>(documents) + i * documents->struct_size;
    const auto& d = *reinterpret_cast<const doppel_document*>(at);
    if (d.struct_size < sizeof(doppel_document) || d.struct_size != documents->struct_size)
      return invalid("documents[" + std::to_string(i) + "].struct_size is " + std::to_string(d.struct_size) +
                     ", not sizeof(doppel_document), which is " + std::to_string(sizeof(doppel_document)));
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

static_assert(static_cast<int>(Relation::contained) == DOPPEL_IS_CONTAINED &&
              static_cast<int>(Relation::contains) == DOPPEL_CONTAINS &&
              static_cast<int>(Relation::shares) == DOPPEL_SHARES &&
              static_cast<int>(Relation::similar) == DOPPEL_SIMILAR);

// Calls insert() or query() with the documents, and turns what it says into structures of C.
template <typename Judge>
doppel_judgements* judgements_of(const doppel_document* documents, size_t count, char** error,
                                 const Judge& judge) {
  const auto given = documents_of(documents, count);
  auto judged = given.ok() ? judge(std::span(*given)) : given.status();
  if (!judged.ok()) {
    set_error(error, judged.status());
    return nullptr;
  }
  auto out = std::make_unique<doppel_judgements>();
  out->judged = *std::move(judged);
  size_t passages = 0;
  for (const Judgement& judgement : out->judged)
    for (const RelatedOriginal& related : judgement.related) passages += related.passages.size();
  out->passages.reserve(passages);  // so that they stay where they are
  for (const Judgement& judgement : out->judged) {
    const bool duplicate = judgement.verdict == Verdict::duplicate;
    out->judgements.push_back({.verdict = verdict_of(judgement.verdict),
                               .kind = kind_of(judgement.kind),
                               .similarity = judgement.similarity,
                               .duplicate_of = duplicate ? judgement.duplicate_of.c_str() : nullptr,
                               .duplicate_of_size = judgement.duplicate_of.size(),
                               .related = judgement.related.size()});
    std::vector<doppel_related>& all = out->related.emplace_back();
    for (const RelatedOriginal& related : judgement.related) {
      all.push_back({.id = related.id.c_str(),
                     .id_size = related.id.size(),
                     .relation = static_cast<int>(related.relation),
                     .of_document = related.of_document,
                     .of_original = related.of_original,
                     .passages = out->passages.data() + out->passages.size(),
                     .passage_count = related.passages.size()});
      for (const auto& [begin, end] : related.passages) out->passages.push_back({begin, end});
    }
  }
  return out.release();
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

doppel_options* doppel_options_new() { return new (std::nothrow) doppel_options; }

int doppel_set(doppel_options* options, const char* name, const char* value, char** error) {
  return guarded(error, -1, [&] {
    const absl::Status status =
        options->options.set(name == nullptr ? "" : name, value == nullptr ? "" : value);
    if (!status.ok()) doppel::set_error(error, status);
    return status.ok() ? 0 : -1;
  });
}

void doppel_options_free(doppel_options* options) { delete options; }

doppel_index* doppel_open(const char* directory, const doppel_options* options, char** error) {
  return guarded(error, nullptr, [&]() -> doppel_index* {
    auto index = doppel::Index::open(directory == nullptr ? "" : directory,
                                     options == nullptr ? doppel::Index::Options() : options->options);
    if (index.ok()) return new doppel_index{*std::move(index)};
    doppel::set_error(error, index.status());
    return nullptr;
  });
}

void doppel_close(doppel_index* index) { delete index; }

doppel_judgements* doppel_insert(doppel_index* index, const doppel_document* documents, size_t count,
                                 char** error) {
  return guarded(error, nullptr, [&] {
    return doppel::judgements_of(documents, count, error,
                                 [&](auto given) { return index->index->insert(given); });
  });
}

doppel_judgements* doppel_query(const doppel_index* index, const doppel_document* documents, size_t count,
                                char** error) {
  return guarded(error, nullptr, [&] {
    const doppel::Index& asked = *index->index;
    return doppel::judgements_of(documents, count, error, [&](auto given) { return asked.query(given); });
  });
}

const doppel_judgement* doppel_judgement_of(const doppel_judgements* all, size_t document) {
  return document < all->judgements.size() ? &all->judgements[document] : nullptr;
}

const doppel_related* doppel_related_of(const doppel_judgements* all, size_t document, size_t number) {
  if (document >= all->related.size() || number >= all->related[document].size()) return nullptr;
  return &all->related[document][number];
}

void doppel_judgements_free(doppel_judgements* all) { delete all; }

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

int doppel_for_each(const doppel_index* index, int (*visit)(void*, const doppel_original*), void* context,
                    char** error) {
  return guarded(error, -1, [&] {
    const absl::Status status = index->index->for_each([&](const doppel::Index::Original& original) {
      const doppel_original shown{
          .number = original.number, .id = original.id.data(), .id_size = original.id.size()};
      return visit(context, &shown) != 0;
    });
    if (!status.ok()) doppel::set_error(error, status);
    return status.ok() ? 0 : -1;
  });
}

size_t doppel_size(const doppel_index* index) { return index->index->size(); }

uint64_t doppel_memory_bytes(const doppel_index* index) { return index->index->memory_bytes(); }

void doppel_free(void* memory) { std::free(memory); }
