#include "verdicts.h"

#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/status.h"
#include "records/metadata.h"

namespace doppel::python {

namespace {

constexpr uint8_t kWithRelations = 0x80;  // of a kind's byte

}  // namespace

void RelationColumns::add(const Related& related, std::string_view original_name) {
  const auto share = [&](uint64_t all) { return similarity_ppm({related.shared, all}) / 1e6; };
  relation.push_back(static_cast<uint8_t>(related.relation));
  original.add(original_name);
  of_document.push_back(share(related.of_document));
  of_original.push_back(share(related.of_original));
  for (size_t i = 0; i < related.passages.size(); ++i) {
    const bool known = !related.bytes.empty();
    word_begin.push_back(related.passages[i].begin);
    word_end.push_back(related.passages[i].end);
    byte_begin.push_back(known ? static_cast<int64_t>(related.bytes[i].begin) : -1);
    byte_end.push_back(known ? static_cast<int64_t>(related.bytes[i].end) : -1);
  }
  passage_ends.push_back(static_cast<int64_t>(word_begin.size()));
}

void RelationColumns::add_row(const RelationColumns& from, size_t row, const NewName& new_name) {
  for (auto i = static_cast<size_t>(from.ends[row]); i < static_cast<size_t>(from.ends[row + 1]); ++i) {
    relation.push_back(from.relation[i]);
    original.add(new_name(from.original[i]));
    of_document.push_back(from.of_document[i]);
    of_original.push_back(from.of_original[i]);
    const auto append = [&](std::vector<int64_t>& to, const std::vector<int64_t>& values) {
      to.insert(to.end(), values.begin() + from.passage_ends[i], values.begin() + from.passage_ends[i + 1]);
    };
    append(word_begin, from.word_begin);
    append(word_end, from.word_end);
    append(byte_begin, from.byte_begin);
    append(byte_end, from.byte_end);
    passage_ends.push_back(static_cast<int64_t>(word_begin.size()));
  }
}

absl::Status Verdicts::add(std::string_view name, const Outcome& outcome, std::string_view original_name) {
  if (outcome.verdict == Verdict::unique) {
    for (const Related& each : outcome.related) {
      Metadata metadata;
      RETURN_IF_ERROR(decode_metadata(each.original, metadata));
      relations.add(each, metadata.name());
    }
  }
  add(static_cast<uint8_t>(outcome.verdict), static_cast<uint8_t>(outcome.kind), outcome.seq,
      similarity_ppm(outcome.similarity), name, original_name);
  return absl::OkStatus();
}

void Verdicts::add(uint8_t verdict_number, uint8_t kind_number, uint64_t number, uint32_t ppm,
                   std::string_view name, std::string_view original_name) {
  const bool duplicate = verdict_number == static_cast<uint8_t>(Verdict::duplicate);
  verdict.push_back(verdict_number);
  kind.push_back(kind_number);
  seq.push_back(number);
  similarity.push_back(duplicate ? ppm / 1e6 : std::numeric_limits<double>::quiet_NaN());
  id.add(name);
  original.add(duplicate ? original_name : std::string_view());
  relations.end_row();
}

Verdicts taken(const Verdicts& from, const std::vector<size_t>& rows, bool renumber) {
  std::unordered_map<std::string_view, size_t> place_of;   // by the id that the row had
  std::unordered_map<uint64_t, size_t> place_of_original;  // by its number
  for (size_t i = 0; renumber && i < rows.size(); ++i) {
    place_of.emplace(from.id[rows[i]], i);
    if (static_cast<Verdict>(from.verdict[rows[i]]) == Verdict::unique)
      place_of_original.emplace(from.seq[rows[i]], i);
  }
  const auto new_name = [&](std::string_view id) {
    const auto found = place_of.find(id);
    return found == place_of.end() ? std::string(id) : std::to_string(found->second);
  };
  Verdicts out;
  out.with_relations = from.with_relations;
  for (const size_t row : rows) {
    out.verdict.push_back(from.verdict[row]);
    out.kind.push_back(from.kind[row]);
    out.seq.push_back(from.seq[row]);
    out.similarity.push_back(from.similarity[row]);
    out.id.add(new_name(from.id[row]));
    const auto original = place_of_original.find(from.seq[row]);
    const bool here =
        original != place_of_original.end() && static_cast<Verdict>(from.verdict[row]) == Verdict::duplicate;
    out.original.add(here ? std::to_string(original->second) : std::string(from.original[row]));
    out.relations.add_row(from.relations, row, new_name);
    out.relations.end_row();
  }
  return out;
}

namespace {

void put_relations(std::string& out, const RelationColumns& r, size_t row) {
  const auto at = [](const std::vector<int64_t>& ends, size_t i) { return static_cast<size_t>(ends[i]); };
  put_varint(out, at(r.ends, row + 1) - at(r.ends, row));
  for (size_t i = at(r.ends, row); i < at(r.ends, row + 1); ++i) {
    put_fixed<uint8_t>(out, r.relation[i]);
    put_string(out, r.original[i]);
    put_fixed<uint64_t>(out, std::bit_cast<uint64_t>(r.of_document[i]));
    put_fixed<uint64_t>(out, std::bit_cast<uint64_t>(r.of_original[i]));
    put_varint(out, at(r.passage_ends, i + 1) - at(r.passage_ends, i));
    for (size_t p = at(r.passage_ends, i); p < at(r.passage_ends, i + 1); ++p) {
      put_varint(out, static_cast<uint64_t>(r.word_begin[p]));
      put_varint(out, static_cast<uint64_t>(r.word_end[p]));
      put_varint(out, static_cast<uint64_t>(r.byte_begin[p] + 1));
      put_varint(out, static_cast<uint64_t>(r.byte_end[p] + 1));
    }
  }
}

bool take_relations(ByteReader& in, RelationColumns& out) {
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    out.relation.push_back(in.fixed<uint8_t>());
    out.original.add(in.string());
    out.of_document.push_back(std::bit_cast<double>(in.fixed<uint64_t>()));
    out.of_original.push_back(std::bit_cast<double>(in.fixed<uint64_t>()));
    if (out.relation.back() > static_cast<uint8_t>(Relation::similar)) return false;
    for (uint64_t passages = in.varint(); passages > 0 && in.ok(); --passages) {
      for (std::vector<int64_t>* word : {&out.word_begin, &out.word_end})
        word->push_back(static_cast<int64_t>(in.varint()));
      for (std::vector<int64_t>* byte : {&out.byte_begin, &out.byte_end})
        byte->push_back(static_cast<int64_t>(in.varint()) - 1);
    }
    out.passage_ends.push_back(static_cast<int64_t>(out.word_begin.size()));
  }
  return in.ok();
}

}  // namespace

void put_rows(std::string& out, const Verdicts& v, size_t first) {
  for (size_t i = first; i < v.size(); ++i) {
    put_fixed<uint8_t>(out, v.verdict[i]);
    put_fixed(out, static_cast<uint8_t>(v.kind[i] | (v.with_relations ? kWithRelations : 0)));
    put_varint(out, v.seq[i]);
    put_varint(out,
               std::isnan(v.similarity[i]) ? 0 : static_cast<uint64_t>(std::llround(v.similarity[i] * 1e6)));
    put_string(out, v.id[i]);
    put_string(out, v.original[i]);
    if (v.with_relations) put_relations(out, v.relations, i);
  }
}

bool take_rows(ByteReader& in, uint64_t rows, Verdicts& out) {
  for (uint64_t i = 0; i < rows; ++i) {
    const auto verdict = in.fixed<uint8_t>(), flagged = in.fixed<uint8_t>();
    const auto kind = static_cast<uint8_t>(flagged & ~kWithRelations);
    const uint64_t seq = in.varint(), ppm = in.varint();
    const std::string_view id = in.string(), original = in.string();
    if (!in.ok() || verdict > static_cast<uint8_t>(Verdict::skipped) ||
        kind > static_cast<uint8_t>(Kind::contained))
      return false;
    if (kind != flagged) {
      out.with_relations = true;
      if (!take_relations(in, out.relations)) return false;
    }
    out.add(verdict, kind, seq, static_cast<uint32_t>(ppm), id, original);
  }
  return true;
}

}  // namespace doppel::python
