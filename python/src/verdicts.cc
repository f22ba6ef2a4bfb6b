#include "verdicts.h"

#include <cmath>
#include <limits>

namespace doppel::python {

void Verdicts::add(std::string_view name, const Outcome& outcome, std::string_view original_name) {
  add(static_cast<uint8_t>(outcome.verdict), static_cast<uint8_t>(outcome.kind), outcome.seq,
      similarity_ppm(outcome.similarity), name, original_name);
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
}

void put_rows(std::string& out, const Verdicts& v, size_t first) {
  for (size_t i = first; i < v.size(); ++i) {
    put_fixed<uint8_t>(out, v.verdict[i]);
    put_fixed<uint8_t>(out, v.kind[i]);
    put_varint(out, v.seq[i]);
    put_varint(out,
               std::isnan(v.similarity[i]) ? 0 : static_cast<uint64_t>(std::llround(v.similarity[i] * 1e6)));
    put_string(out, v.id[i]);
    put_string(out, v.original[i]);
  }
}

bool take_rows(ByteReader& in, uint64_t rows, Verdicts& out) {
  for (uint64_t i = 0; i < rows; ++i) {
    const auto verdict = in.fixed<uint8_t>(), kind = in.fixed<uint8_t>();
    const uint64_t seq = in.varint(), ppm = in.varint();
    const std::string_view id = in.string(), original = in.string();
    if (!in.ok() || verdict > static_cast<uint8_t>(Verdict::skipped) ||
        kind > static_cast<uint8_t>(Kind::contained))
      return false;
    out.add(verdict, kind, seq, static_cast<uint32_t>(ppm), id, original);
  }
  return true;
}

}  // namespace doppel::python
