#pragma once
// A journal in its plain form, version 2: each commit holds its whole source position. Written from the
// description of the format, to compare it with the present code.

#include <string>

#include "base/bytes.h"
#include "base/checksums.h"
#include "state/columns.h"
#include "state/journal.h"

namespace doppel::state_test {

inline std::string plain_payload(const CommitRecord& record, const std::string& position,
                                 const Identity* identity) {
  std::string out(1, identity != nullptr ? '\1' : '\2');
  put_varint(out, record.commits);
  put_varint(out, record.next_seq);
  put_varint(out, record.bodies_end);
  put_fixed(out, record.hot_crc);
  put_fixed(out, record.bodies_crc);
  put_varint(out, record.lowest_live);
  put_varint(out, record.keep_from);
  put_varint(out, record.documents);
  put_fixed(out, record.made_ms);
  put_string(out, position);
  put_string(out, record.sink_position);
  put_string(out, record.clock);
  put_varint(out, record.removed.size());
  Seq before = 0;
  for (const Seq seq : record.removed) {
    put_varint(out, seq - before);
    before = seq;
  }
  if (identity == nullptr) return out;
  put_string(out, identity->data_scheme);
  put_string(out, identity->rule);
  put_varint(out, static_cast<uint64_t>(identity->num_perm));
  put_varint(out, static_cast<uint64_t>(identity->mask_words));
  return out;
}

inline std::string plain_journal(const JournalContents& journal) {
  std::string out = encode_header({.kind = FileKind::journal, .epoch = journal.epoch});
  store(out.data() + 8, uint32_t{2});
  store(out.data() + kFileHeaderBytes - 4, crc32c(std::string_view(out).substr(0, kFileHeaderBytes - 4)));
  uint32_t crc = 0;
  for (size_t i = 0; i < journal.entries.size(); ++i) {
    const std::string payload = plain_payload(journal.entries[i].record, journal.source_position(i),
                                              i == 0 ? &journal.identity : nullptr);
    std::string frame;
    put_fixed(frame, static_cast<uint32_t>(payload.size()));
    crc = crc32c(payload, crc32c(frame, crc));
    put_fixed(frame, crc);
    out += frame + payload;
  }
  return out;
}

}  // namespace doppel::state_test
