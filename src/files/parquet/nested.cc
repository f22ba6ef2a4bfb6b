#include "files/parquet/nested.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/status.h"
#include "files/tables/row_json.h"

namespace doppel::parquet {
namespace {

void add_leaves(const Column& column, const std::string& path, std::vector<Column>& out) {
  if (column.kind == Kind::value) {
    out.push_back(column);
    out.back().name = path;
  }
  for (const Column& child : column.children) add_leaves(child, path + "." + child.name, out);
}

absl::Status in_leaf(const Column& leaf, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl_sv(fmt::format("column \"{}\": {}", leaf.name, std_sv(status.message())))};
}

}  // namespace

void add_leaves(const Column& column, std::vector<Column>& out) { add_leaves(column, column.name, out); }

NestedReader::NestedReader(const Column& column, const Column* leaves, int fd, uint64_t page_bytes,
                           uint64_t row_bytes, const ByteCounter& counter)
    : row_bytes_(row_bytes) {
  std::vector<Column> below;
  add_leaves(column, below);
  leaves_.reserve(below.size());
  for (size_t i = 0; i < below.size(); ++i) leaves_.emplace_back(leaves[i], fd, page_bytes, counter);
  size_t first = 0;
  root_ = node_of(column, first);
}

NestedReader::Node NestedReader::node_of(const Column& column, size_t& first) {
  Node out{.column = &column, .first = first};
  if (column.kind == Kind::value) ++first;
  for (const Column& child : column.children) {
    out.children.push_back(node_of(child, first));
    out.names.emplace_back(out.names.empty() ? "{" : ",");
    append_json_string(out.names.back(), child.name);
    out.names.back() += ':';
  }
  out.leaves = first - out.first;
  return out;
}

absl::Status NestedReader::begin(const Chunk* chunks, uint64_t rows, uint64_t skip) {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    Leaf& leaf = leaves_[i];
    const Chunk& chunk = chunks[i];
    if (!chunk.unreadable.empty()) return in_leaf(leaf.column, absl::DataLossError(chunk.unreadable));
    const bool lists = leaf.column.repetition > 0;
    leaf.left = lists ? chunk.values : rows;
    leaf.at_hand = false;
    leaf.reader.begin(chunk, leaf.left);
    if (!lists) {
      RETURN_IF_ERROR(in_leaf(leaf.column, leaf.reader.skip(skip)));
      leaf.left -= skip;
      continue;
    }
    // A row extends from a value with repetition level 0 to the next such value.
    for (uint64_t begun = 0; begun <= skip && skip > 0;) {
      RETURN_IF_ERROR(in_leaf(leaf.column, look(leaf)));
      if (!leaf.at_hand || (leaf.levels.repetition == 0 && ++begun > skip)) break;
      leaf.at_hand = false;
    }
  }
  return absl::OkStatus();
}

// Reads the leaf's next value, unless one is waiting or the row group has no more.
absl::Status NestedReader::look(Leaf& leaf) {
  if (leaf.at_hand || leaf.left == 0) return absl::OkStatus();
  --leaf.left;
  RETURN_IF_ERROR(leaf.reader.next(leaf.levels, leaf.cell));
  leaf.at_hand = true;
  return absl::OkStatus();
}

absl::Status NestedReader::next(std::string_view& out) {
  for (Leaf& leaf : leaves_) {
    RETURN_IF_ERROR(in_leaf(leaf.column, look(leaf)));
    if (!leaf.at_hand) return in_leaf(leaf.column, absl::DataLossError("it ends before its row group does"));
    if (leaf.levels.repetition != 0)
      return in_leaf(leaf.column, absl::DataLossError("its lists are longer than those of its neighbours"));
  }
  out_.clear();
  RETURN_IF_ERROR(append(root_));
  out = out_;
  return absl::OkStatus();
}

// Drops the single value that each leaf has for a null or an empty list.
absl::Status NestedReader::pass(const Node& node) {
  for (size_t i = node.first; i < node.first + node.leaves; ++i) {
    RETURN_IF_ERROR(in_leaf(leaves_[i].column, look(leaves_[i])));
    leaves_[i].at_hand = false;
  }
  return absl::OkStatus();
}

absl::Status NestedReader::append(const Node& node) {
  const Column& column = *node.column;
  Leaf& first = leaves_[node.first];
  RETURN_IF_ERROR(in_leaf(first.column, look(first)));
  if (!first.at_hand) return in_leaf(first.column, absl::DataLossError("it ends within a row"));
  if (first.levels.definition < column.definition) {
    put("null");
    return pass(node);
  }
  switch (column.kind) {
    case Kind::value:
      if (out_.size() <= row_bytes_) tables::append_json(column, first.cell, out_);
      first.at_hand = false;
      return absl::OkStatus();
    case Kind::structure:
      for (size_t i = 0; i < node.children.size(); ++i) {
        put(node.names[i]);
        RETURN_IF_ERROR(append(node.children[i]));
      }
      put("}");
      return absl::OkStatus();
    case Kind::list:
    case Kind::map:
      break;
  }
  if (first.levels.definition > column.definition) return append_entries(node);
  put(column.kind == Kind::list ? "[]" : "{}");
  return pass(node);
}

absl::Status NestedReader::append_entries(const Node& node) {
  const Column& column = *node.column;
  Leaf& first = leaves_[node.first];
  const bool map = column.kind == Kind::map;
  std::string_view before = map ? "{" : "[";
  do {
    put(before);
    before = ",";
    const size_t key = out_.size();
    RETURN_IF_ERROR(append(node.children[0]));
    if (map) {
      tables::quote(out_, key);
      put(":");
      RETURN_IF_ERROR(append(node.children[1]));
    }
    RETURN_IF_ERROR(in_leaf(first.column, look(first)));
  } while (first.at_hand && first.levels.repetition >= column.repetition);
  put(map ? "}" : "]");
  return absl::OkStatus();
}

}  // namespace doppel::parquet
