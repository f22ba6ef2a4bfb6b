#pragma once
// Verdicts of documents as columns: for NumPy, for Arrow, or row by row.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "doppel/verdict.h"
#include "engine/resolved.h"

namespace doppel::python {

// Contiguous texts in Arrow's layout.
class TextBuffer {
 public:
  void add(std::string_view text) {
    data_.append(text);
    ends_.push_back(static_cast<int64_t>(data_.size()));
  }
  size_t size() const { return ends_.size() - 1; }
  std::string_view operator[](size_t i) const {
    return std::string_view(data_).substr(static_cast<size_t>(ends_[i]),
                                          static_cast<size_t>(ends_[i + 1] - ends_[i]));
  }
  const std::vector<int64_t>& ends() const { return ends_; }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
  std::vector<int64_t> ends_{0};  // one more than there are texts
};

// The originals that unique documents are related to, row after row.
struct RelationColumns {
  std::vector<int64_t> ends{0};   // by row: one more than there are rows
  std::vector<uint8_t> relation;  // doppel::Relation
  TextBuffer original;            // its id
  std::vector<double> of_document, of_original;
  std::vector<int64_t> passage_ends{0};                             // the same by related original
  std::vector<int64_t> word_begin, word_end, byte_begin, byte_end;  // bytes: -1 without the text

  void add(const Related& related, std::string_view original_name);
  using NewName = std::function<std::string(std::string_view id)>;
  void add_row(const RelationColumns& from, size_t row, const NewName& new_name);
  void end_row() { ends.push_back(static_cast<int64_t>(relation.size())); }
};

struct Verdicts {
  std::vector<uint8_t> verdict;    // doppel::Verdict
  std::vector<uint8_t> kind;       // doppel::Kind
  std::vector<uint64_t> seq;       // the number of the original; of a unique document, its own
  std::vector<double> similarity;  // of duplicates, in millionths, rounded down; else NaN
  TextBuffer id;
  TextBuffer original;          // of a duplicate: the id of its original; else empty
  bool with_relations = false;  // the index knows relations
  RelationColumns relations;

  size_t size() const { return verdict.size(); }
  absl::Status add(std::string_view name, const Outcome& outcome, std::string_view original_name);
  void add(uint8_t verdict, uint8_t kind, uint64_t seq, uint32_t similarity_ppm, std::string_view name,
           std::string_view original_name);
};

// These rows of `from`, in this order. `renumber`: `from` is a table whose rows have their numbers as ids;
// they get those of the new order.
Verdicts taken(const Verdicts& from, const std::vector<size_t>& rows, bool renumber);

// Appends rows as bytes, from `first` on. Each has u8 verdict, u8 kind, varints number of the original and
// similarity in millionths, strings id and original (varint length, bytes). If the index knows relations, 128
// is added to kind, and a varint number of related originals follows. Each of these has u8 relation, string
// id, doubles of_document and of_original, and a varint number of passages, each with the varints word_begin,
// word_end, byte_begin + 1, byte_end + 1.
void put_rows(std::string& out, const Verdicts& verdicts, size_t first);
// Adds `rows` rows. Returns false if the bytes are invalid.
bool take_rows(ByteReader& in, uint64_t rows, Verdicts& out);

}  // namespace doppel::python
