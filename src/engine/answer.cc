#include "engine/answer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/checksums.h"
#include "base/status.h"

namespace doppel {

void Answer::clear() {
  same_payload.reset();
  exact.reset();
  candidates.clear();
  candidates_more = 0;
  counts.clear();
  same_id.clear();
  relatives_left_out = false;
  print_counts.clear();
  relatives.clear();
  described_.clear();
  metadata_.clear();
}

void Answer::describe(Seq seq, std::string_view metadata) {
  if (about(seq).has_value()) return;
  described_.push_back({seq, metadata_.size(), metadata.size()});
  metadata_.append(metadata);
}

std::optional<std::string_view> Answer::about(Seq seq) const {
  for (const Described& d : described_)
    if (d.seq == seq) return std::string_view(metadata_).substr(d.begin, d.size);
  return std::nullopt;
}

namespace {

enum Flags : uint8_t { kSamePayload = 1, kExact = 2, kRelatives = 4, kRelativesLeftOut = 8 };
enum CandidateFlags : uint8_t { kChecked = 1, kEstimated = 2 };

void put_candidate(std::string& out, const Verified& c) {
  put_varint(out, c.seq);
  put_varint(out, static_cast<uint64_t>(c.equal));
  put_fixed<uint8_t>(out, (c.checked ? kChecked : 0) | (c.estimated ? kEstimated : 0));
  if (!c.checked) return;
  put_varint(out, c.overlap.inter);
  put_varint(out, c.overlap.uni);
}

Verified take_candidate(ByteReader& in) {
  Verified c;
  c.seq = in.varint();
  c.equal = static_cast<int>(in.varint());
  const auto flags = in.fixed<uint8_t>();
  c.checked = (flags & kChecked) != 0;
  c.estimated = (flags & kEstimated) != 0;
  if (!c.checked) return c;
  c.overlap.inter = static_cast<uint32_t>(in.varint());
  c.overlap.uni = static_cast<uint32_t>(in.varint());
  return c;
}

void put_relatives(std::string& out, const Answer& answer) {
  put_varint(out, answer.print_counts.size());
  for (const PrintCount& count : answer.print_counts) {
    put_varint(out, count.number);
    put_varint(out, count.listed);
  }
  put_varint(out, answer.relatives.size());
  for (const Relative& relative : answer.relatives) {
    put_varint(out, relative.seq);
    put_varint(out, relative.prints);
    put_varint(out, relative.hits.size());
    for (const uint32_t hit : relative.hits) put_varint(out, hit);
    put_fixed<uint8_t>(out, relative.compared ? kChecked : 0);
    if (!relative.compared) continue;
    put_varint(out, relative.size);
    put_varint(out, relative.cells.size());
    for (const CellCount& cell : relative.cells) {
      put_varint(out, cell.cell);
      put_varint(out, cell.shared);
    }
    put_varint(out, relative.runs.size());
    for (const ShingleRun& run : relative.runs) {
      put_varint(out, run.begin);
      put_varint(out, run.size());
    }
  }
}

void take_relatives(ByteReader& in, Answer& answer) {
  const auto number = [&] { return static_cast<uint32_t>(in.varint()); };
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const uint32_t print = number();
    answer.print_counts.push_back({print, number()});
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Relative& relative = answer.relatives.emplace_back();
    relative.seq = in.varint();
    relative.prints = number();
    for (uint64_t hits = in.varint(); hits > 0 && in.ok(); --hits) relative.hits.push_back(number());
    relative.compared = in.fixed<uint8_t>() == kChecked;
    if (!relative.compared) continue;
    relative.size = number();
    for (uint64_t cells = in.varint(); cells > 0 && in.ok(); --cells) {
      const uint32_t cell = number();
      relative.cells.push_back({cell, number()});
    }
    for (uint64_t runs = in.varint(); runs > 0 && in.ok(); --runs) {
      const uint32_t begin = number();
      relative.runs.push_back({begin, begin + number()});
    }
  }
}

void take_answer(ByteReader& in, Answer& answer) {
  const auto flags = in.fixed<uint8_t>();
  if ((flags & kSamePayload) != 0) {
    const Seq seq = in.varint();
    answer.same_payload = {seq, take_digest(in)};
  }
  if ((flags & kExact) != 0) answer.exact = in.varint();
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left)
    answer.candidates.push_back(take_candidate(in));
  answer.candidates_more = static_cast<uint32_t>(in.varint());
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const auto band = static_cast<uint16_t>(in.varint());
    answer.counts.push_back({.band = band, .listed = static_cast<uint16_t>(in.varint())});
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const Seq seq = in.varint();
    answer.same_id.push_back({seq, take_digest(in)});
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const Seq seq = in.varint();
    answer.describe(seq, in.string());
  }
  answer.relatives_left_out = (flags & kRelativesLeftOut) != 0;
  if ((flags & kRelatives) != 0) take_relatives(in, answer);
}

}  // namespace

void put_answer(std::string& out, const Answer& answer, size_t checked) {
  const bool relatives = !answer.print_counts.empty();
  put_fixed<uint8_t>(out, (answer.same_payload ? kSamePayload : 0) | (answer.exact ? kExact : 0) |
                              (relatives ? kRelatives : 0) |
                              (answer.relatives_left_out ? kRelativesLeftOut : 0));
  if (answer.same_payload) {
    put_varint(out, answer.same_payload->seq);
    put_digest(out, answer.same_payload->digest);
  }
  if (answer.exact) put_varint(out, *answer.exact);
  const size_t named = std::min(answer.candidates.size(), checked);
  put_varint(out, named);
  for (size_t c = 0; c < named; ++c) put_candidate(out, answer.candidates[c]);
  put_varint(out, answer.candidates.size() - named + answer.candidates_more);
  put_varint(out, answer.counts.size());
  for (const BandCount& count : answer.counts) {
    put_varint(out, count.band);
    put_varint(out, count.listed);
  }
  put_varint(out, answer.same_id.size());
  for (const Named& named_so : answer.same_id) {
    put_varint(out, named_so.seq);
    put_digest(out, named_so.digest);
  }
  put_varint(out, answer.described_.size());
  for (const Answer::Described& d : answer.described_) {
    put_varint(out, d.seq);
    put_string(out, std::string_view(answer.metadata_).substr(d.begin, d.size));
  }
  if (relatives) put_relatives(out, answer);
}

void encode_answers(const AnswerRecord& record, size_t checked, std::string& out) {
  const size_t start = out.size();
  put_fixed(out, uint32_t{0});
  put_fixed(out, kAnswerRecordVersion);
  put_string(out, record.generation);
  put_string(out, record.shards);
  put_varint(out, record.as_of);
  put_varint(out, record.begin);
  put_varint(out, record.end - record.begin);
  put_varint(out, record.answers.size());
  uint64_t before = record.begin;
  for (const auto& [offset, answer] : record.answers) {
    put_varint(out, offset - before);
    put_answer(out, answer, checked);
    before = offset;
  }
  store(out.data() + start, crc32c(std::string_view(out).substr(start + sizeof(uint32_t))));
}

absl::Status decode_answers(std::string_view bytes, AnswerRecord& out) {
  if (bytes.size() <= sizeof(uint32_t)) return invalid("not a record of answers: too short");
  ByteReader in(bytes);
  const auto crc = in.fixed<uint32_t>();
  if (crc != crc32c(in.rest())) return invalid("not a record of answers, or damaged: wrong checksum");
  const auto version = in.fixed<uint8_t>();
  if (version != kAnswerRecordVersion) {
    return invalid("answers of version " + std::to_string(version) + "; this doppel reads version " +
                   std::to_string(kAnswerRecordVersion));
  }
  out.generation = in.string();
  out.shards = in.string();
  out.as_of = in.varint();
  out.begin = in.varint();
  const uint64_t length = in.varint();
  if (length > UINT64_MAX - out.begin) return invalid("answers to an impossible range");
  out.end = out.begin + length;
  out.answers.clear();
  uint64_t offset = out.begin;
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    offset += in.varint();
    if (offset < out.begin || offset >= out.end) return invalid("an answer outside of its range");
    if (!out.answers.empty() && out.answers.back().first >= offset)
      return invalid("answers that do not ascend");
    Answer& answer = out.answers.emplace_back(offset, Answer()).second;
    take_answer(in, answer);
    answer.as_of = out.as_of;
  }
  if (!in.done()) return invalid("answers with parts that do not fit into them");
  return absl::OkStatus();
}

}  // namespace doppel
