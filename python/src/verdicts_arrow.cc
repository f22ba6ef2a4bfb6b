#include "verdicts_arrow.h"

#include <string>
#include <utility>
#include <vector>

#include "arrow_abi.h"
#include "records/events.h"

namespace doppel::python {
namespace {

namespace nb = nanobind;

// A column: its type, where its values are, and the object that holds them.
struct Column {
  const char* name;
  const char* format;
  int64_t flags = 0, length = 0, nulls = 0;
  std::vector<const void*> buffers = {};
  std::vector<Column> children = {};
  std::shared_ptr<const void> memory = {};
};

// The memory that a schema or array points to, released with it. Its holder releases the children
// separately, so that a consumer can move them out.
template <typename T>
struct Parts {
  std::vector<T> children;
  std::vector<T*> pointers;
  std::vector<const void*> buffers;
  std::shared_ptr<const void> memory;
};

template <typename T>
void release(T* self) {
  for (int64_t i = 0; i < self->n_children; ++i) {
    T* child = self->children[i];
    if (child->release != nullptr) child->release(child);
  }
  delete static_cast<Parts<T>*>(self->private_data);
  self->release = nullptr;
}

template <typename T>
Parts<T>* parts_for(const Column& column) {
  auto* parts = new Parts<T>;
  parts->children.resize(column.children.size());
  for (T& child : parts->children) parts->pointers.push_back(&child);
  return parts;
}

void make_schema(const Column& column, ArrowSchema* out) {
  auto* parts = parts_for<ArrowSchema>(column);
  for (size_t i = 0; i < column.children.size(); ++i) make_schema(column.children[i], parts->pointers[i]);
  *out = {.format = column.format,
          .name = column.name,
          .flags = column.flags,
          .n_children = static_cast<int64_t>(parts->children.size()),
          .children = parts->pointers.data(),
          .release = release<ArrowSchema>,
          .private_data = parts};
}

void make_array(const Column& column, ArrowArray* out) {
  auto* parts = parts_for<ArrowArray>(column);
  for (size_t i = 0; i < column.children.size(); ++i) make_array(column.children[i], parts->pointers[i]);
  parts->buffers = column.buffers;
  parts->memory = column.memory;
  *out = {.length = column.length,
          .null_count = column.nulls,
          .n_buffers = static_cast<int64_t>(parts->buffers.size()),
          .n_children = static_cast<int64_t>(parts->children.size()),
          .buffers = parts->buffers.data(),
          .children = parts->pointers.data(),
          .release = release<ArrowArray>,
          .private_data = parts};
}

using Names = std::string_view (*)(uint8_t);

std::string_view verdict_text(uint8_t code) { return verdict_name(static_cast<Verdict>(code)); }
std::string_view kind_text(uint8_t code) {
  return static_cast<Kind>(code) == Kind::none ? std::string_view() : kind_name(static_cast<Kind>(code));
}
std::string_view relation_text(uint8_t code) { return relation_name(static_cast<Relation>(code)); }

// Makes columns of verdicts, which they keep.
class ColumnMaker {
 public:
  explicit ColumnMaker(std::shared_ptr<const Verdicts> verdicts) : verdicts_(std::move(verdicts)) {}

  Column table() const {
    const Verdicts& v = *verdicts_;
    Column out{.name = "", .format = "+s", .length = rows(), .buffers = {nullptr}};
    out.children = {texts("id", v.id),
                    names("verdict", v.verdict, verdict_text),
                    nullable(texts("original", v.original), is_duplicate),
                    nullable(doubles("similarity", v.similarity), is_duplicate),
                    nullable(names("kind", v.kind, kind_text), is_duplicate),
                    nullable(clusters(), in_cluster)};
    if (v.with_relations) out.children.push_back(relations());
    return out;
  }

 private:
  using IsValid = bool (*)(uint8_t verdict);
  static bool is_duplicate(uint8_t code) { return static_cast<Verdict>(code) == Verdict::duplicate; }
  static bool in_cluster(uint8_t code) { return code <= static_cast<uint8_t>(Verdict::duplicate); }
  int64_t rows() const { return static_cast<int64_t>(verdicts_->size()); }

  // The memory that is made for a column, in addition to the verdicts that it refers to.
  struct Made {
    std::shared_ptr<const void> before;
    std::string valid, data;
    std::vector<int32_t> ends32{0};
    TextBuffer texts;
  };

  Column texts(const char* name, const TextBuffer& buffer) const {
    return {.name = name,
            .format = "U",
            .length = static_cast<int64_t>(buffer.size()),
            .buffers = {nullptr, buffer.ends().data(), buffer.data().data()},
            .memory = verdicts_};
  }
  Column doubles(const char* name, const std::vector<double>& values) const {
    return {.name = name,
            .format = "g",
            .length = static_cast<int64_t>(values.size()),
            .buffers = {nullptr, values.data()},
            .memory = verdicts_};
  }
  Column names(const char* name, const std::vector<uint8_t>& codes, Names name_of) const {
    auto made = std::make_shared<Made>();
    for (const uint8_t code : codes) {
      made->data.append(name_of(code));
      made->ends32.push_back(static_cast<int32_t>(made->data.size()));
    }
    return {.name = name,
            .format = "u",
            .length = static_cast<int64_t>(codes.size()),
            .buffers = {nullptr, made->ends32.data(), made->data.data()},
            .memory = made};
  }
  Column clusters() const {
    auto made = std::make_shared<Made>();
    for (size_t i = 0; i < verdicts_->size(); ++i)
      made->texts.add(is_duplicate(verdicts_->verdict[i]) ? verdicts_->original[i]
                      : in_cluster(verdicts_->verdict[i]) ? verdicts_->id[i]
                                                          : std::string_view());
    Column out = texts("cluster", made->texts);
    out.memory = made;
    return out;
  }

  template <typename Valid>
  static Column with_nulls(Column column, const Valid& valid) {
    auto made = std::make_shared<Made>();
    made->before = std::move(column.memory);
    made->valid.assign(static_cast<size_t>((column.length + 7) / 8), '\0');
    for (int64_t i = 0; i < column.length; ++i) {
      char& bits = made->valid[static_cast<size_t>(i / 8)];
      if (valid(static_cast<size_t>(i))) {
        bits = static_cast<char>(bits | 1 << (i % 8));
      } else {
        ++column.nulls;
      }
    }
    column.flags = kArrowNullable;
    column.buffers.front() = made->valid.data();
    column.memory = std::move(made);
    return column;
  }
  Column nullable(Column column, IsValid is_valid) const {
    return with_nulls(std::move(column), [&](size_t i) { return is_valid(verdicts_->verdict[i]); });
  }

  // Lists of structures of these columns; `ends` has the end of each list.
  Column lists(const char* name, const std::vector<int64_t>& ends, std::vector<Column> members) const {
    Column item{.name = "item",
                .format = "+s",
                .length = members.front().length,
                .buffers = {nullptr},
                .children = std::move(members)};
    return {.name = name,
            .format = "+L",
            .length = static_cast<int64_t>(ends.size()) - 1,
            .buffers = {nullptr, ends.data()},
            .children = {std::move(item)},
            .memory = verdicts_};
  }
  Column relations() const {
    const RelationColumns& r = verdicts_->relations;
    const auto numbers = [&](const char* name, const std::vector<int64_t>& values) {
      const Column out{.name = name,
                       .format = "l",
                       .length = static_cast<int64_t>(values.size()),
                       .buffers = {nullptr, values.data()},
                       .memory = verdicts_};
      return with_nulls(out, [&](size_t i) { return values[i] >= 0; });
    };
    return lists("relations", r.ends,
                 {names("relation", r.relation, relation_text), texts("original", r.original),
                  doubles("of_document", r.of_document), doubles("of_original", r.of_original),
                  lists("passages", r.passage_ends,
                        {numbers("word_begin", r.word_begin), numbers("word_end", r.word_end),
                         numbers("byte_begin", r.byte_begin), numbers("byte_end", r.byte_end)})});
  }

  std::shared_ptr<const Verdicts> verdicts_;
};

struct StreamParts {
  std::shared_ptr<const Verdicts> verdicts;
  bool done = false;
};

StreamParts& parts_of(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

}  // namespace

nb::capsule arrow_stream(std::shared_ptr<const Verdicts> verdicts) {
  auto* stream =
      new ArrowArrayStream{.get_schema =
                               [](ArrowArrayStream* self, ArrowSchema* out) {
                                 make_schema(ColumnMaker(parts_of(self).verdicts).table(), out);
                                 return 0;
                               },
                           .get_next =
                               [](ArrowArrayStream* self, ArrowArray* out) {
                                 StreamParts& parts = parts_of(self);
                                 *out = {};
                                 if (!parts.done) make_array(ColumnMaker(parts.verdicts).table(), out);
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
