#include "verdicts_arrow.h"

#include <array>
#include <cmath>
#include <cstring>

#include "arrow_abi.h"
#include "records/events.h"

namespace doppel::python {
namespace {

namespace nb = nanobind;

struct Field {
  const char* name;
  const char* format;
  int64_t flags;
};
constexpr std::array<Field, 6> kFields{{{"id", "U", 0},
                                        {"verdict", "u", 0},
                                        {"original", "U", kArrowNullable},
                                        {"similarity", "g", kArrowNullable},
                                        {"kind", "u", kArrowNullable},
                                        {"cluster", "U", kArrowNullable}}};
constexpr size_t kCluster = 5;

// The memory that a schema or array points to, released with it. Its holder releases the children
// separately, so that a consumer can move them out.
struct SchemaParts {
  std::array<ArrowSchema, kFields.size()> children;
  std::array<ArrowSchema*, kFields.size()> pointers;
};

template <typename T>
void release_children(T* self) {
  for (int64_t i = 0; i < self->n_children; ++i) {
    T* child = self->children[i];
    if (child->release != nullptr) child->release(child);
  }
}

void make_schema(ArrowSchema* out) {
  auto* parts = new SchemaParts;
  for (size_t i = 0; i < kFields.size(); ++i) {
    parts->children[i] = {.format = kFields[i].format,
                          .name = kFields[i].name,
                          .flags = kFields[i].flags,
                          .release = [](ArrowSchema* self) { self->release = nullptr; }};
    parts->pointers[i] = &parts->children[i];
  }
  *out = {.format = "+s",
          .name = "",
          .n_children = kFields.size(),
          .children = parts->pointers.data(),
          .release =
              [](ArrowSchema* self) {
                release_children(self);
                delete static_cast<SchemaParts*>(self->private_data);
                self->release = nullptr;
              },
          .private_data = parts};
}

// One column: its buffers and their memory.
struct ColumnParts {
  std::shared_ptr<const Verdicts> verdicts;
  std::string valid, data;  // created for this column
  std::vector<int32_t> ends32;
  TextBuffer texts;
  std::array<const void*, 3> buffers{};
};

void make_column(ArrowArray* out, std::unique_ptr<ColumnParts> parts, int64_t length, int64_t buffers,
                 int64_t nulls) {
  *out = {.length = length,
          .null_count = nulls,
          .n_buffers = buffers,
          .buffers = parts->buffers.data(),
          .release =
              [](ArrowArray* self) {
                delete static_cast<ColumnParts*>(self->private_data);
                self->release = nullptr;
              },
          .private_data = parts.release()};
}

using Names = std::string_view (*)(uint8_t);

std::string_view verdict_text(uint8_t code) { return verdict_name(static_cast<Verdict>(code)); }
std::string_view kind_text(uint8_t code) {
  return static_cast<Kind>(code) == Kind::none ? std::string_view() : kind_name(static_cast<Kind>(code));
}

bool in_cluster(uint8_t code) { return code <= static_cast<uint8_t>(Verdict::duplicate); }

int64_t mark_valid(const Verdicts& verdicts, bool of_clusters, std::string& valid) {
  valid.assign((verdicts.size() + 7) / 8, '\0');
  int64_t nulls = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const uint8_t code = verdicts.verdict[i];
    if (of_clusters ? in_cluster(code) : static_cast<Verdict>(code) == Verdict::duplicate) {
      valid[i / 8] = static_cast<char>(valid[i / 8] | 1 << (i % 8));
    } else {
      ++nulls;
    }
  }
  return nulls;
}

void make_child(ArrowArray* out, const std::shared_ptr<const Verdicts>& verdicts, size_t column) {
  auto parts = std::make_unique<ColumnParts>();
  parts->verdicts = verdicts;
  int64_t nulls = 0;
  if ((kFields[column].flags & kArrowNullable) != 0) {
    nulls = mark_valid(*verdicts, column == kCluster, parts->valid);
    parts->buffers[0] = parts->valid.data();
  }
  const auto length = static_cast<int64_t>(verdicts->size());
  const auto text = [&](const TextBuffer& buffer) {
    parts->buffers[1] = buffer.ends().data();
    parts->buffers[2] = buffer.data().data();
  };
  const auto names = [&](const std::vector<uint8_t>& codes, Names name) {
    parts->ends32.push_back(0);
    for (const uint8_t code : codes) {
      parts->data.append(name(code));
      parts->ends32.push_back(static_cast<int32_t>(parts->data.size()));
    }
    parts->buffers[1] = parts->ends32.data();
    parts->buffers[2] = parts->data.data();
  };
  if (column == 0) text(verdicts->id);
  if (column == 1) names(verdicts->verdict, verdict_text);
  if (column == 2) text(verdicts->original);
  if (column == 3) parts->buffers[1] = verdicts->similarity.data();
  if (column == 4) names(verdicts->kind, kind_text);
  if (column == kCluster) {
    for (size_t i = 0; i < verdicts->size(); ++i)
      parts->texts.add(static_cast<Verdict>(verdicts->verdict[i]) == Verdict::unique ? verdicts->id[i]
                                                                                     : verdicts->original[i]);
    text(parts->texts);
  }
  make_column(out, std::move(parts), length, column == 3 ? 2 : 3, nulls);
}

struct TableParts {
  std::array<ArrowArray, kFields.size()> children;
  std::array<ArrowArray*, kFields.size()> pointers;
  const void* no_nulls = nullptr;
};

void make_table(ArrowArray* out, const std::shared_ptr<const Verdicts>& verdicts) {
  auto* parts = new TableParts;
  for (size_t i = 0; i < kFields.size(); ++i) {
    make_child(&parts->children[i], verdicts, i);
    parts->pointers[i] = &parts->children[i];
  }
  *out = {.length = static_cast<int64_t>(verdicts->size()),
          .n_buffers = 1,
          .n_children = kFields.size(),
          .buffers = &parts->no_nulls,
          .children = parts->pointers.data(),
          .release =
              [](ArrowArray* self) {
                release_children(self);
                delete static_cast<TableParts*>(self->private_data);
                self->release = nullptr;
              },
          .private_data = parts};
}

struct StreamParts {
  std::shared_ptr<const Verdicts> verdicts;
  bool done = false;
};

StreamParts& parts_of(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

}  // namespace

nb::capsule arrow_stream(std::shared_ptr<const Verdicts> verdicts) {
  auto* stream = new ArrowArrayStream{
      .get_schema = [](ArrowArrayStream*, ArrowSchema* out) { return make_schema(out), 0; },
      .get_next =
          [](ArrowArrayStream* self, ArrowArray* out) {
            StreamParts& parts = parts_of(self);
            *out = {};
            if (!parts.done) make_table(out, parts.verdicts);
            parts.done = true;
            return 0;
          },
      .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
      .release =
          [](ArrowArrayStream* self) {
            delete &parts_of(self);
            self->release = nullptr;
          },
      .private_data = new StreamParts{std::move(verdicts)}};
  return nb::capsule(stream, "arrow_array_stream", [](void* pointer) noexcept {
    auto* owned = static_cast<ArrowArrayStream*>(pointer);
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  });
}

}  // namespace doppel::python
