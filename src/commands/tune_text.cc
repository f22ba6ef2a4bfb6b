// The output of `doppel tune` for the terminal.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_replace.h"
#include "commands/commands.h"
#include "commands/tune_report.h"
#include "fmt/format.h"
#include "insight/plots.h"
#include "insight/show.h"

namespace doppel {
namespace {

constexpr double kUnrelated = 0.02;  // similarity of documents that share only phrases
constexpr double kUnrelatedCount = 1e6;

// Rounds to three digits; more would suggest a precision that an estimate does not have.
std::string about(double number) {
  const double unit = number < 1000 ? 1 : std::pow(10, std::floor(std::log10(number)) - 2);
  return with_commas(static_cast<uint64_t>(std::llround(std::round(number / unit) * unit)));
}

void show_rule(Lines& out, const TuneReport& r) {
  const Rule& rule = r.engine.rule;
  const double t = threshold_of(r);
  const Banding b = rule.banding;
  out.line(
      "{} bands of {} rows{}", b.bands, b.rows,
      r.banding_given ? " (as given)" : fmt::format(", for threshold {:g} and recall {:g}", t, r.recall));
  out.line("");
  out.line(
      "  Two documents meet, and are then compared, if all rows of one band are equal. At the threshold");
  out.line(
      "  {} of pairs meet. {} of {} slots are used; a pair with fewer than {} equal slots is not compared.",
      as_chance(meeting_probability(t, b)), b.bands * b.rows, r.engine.scheme.num_perm, rule.min_equal);
}

void show_curve(Lines& out, const TuneReport& r, bool utf8) {
  const Banding b = r.engine.rule.banding;
  const double t = threshold_of(r);
  out.line("");
  out.line("  {:>10}  {}", "similarity", "meet");
  for (double s : similarities_around(t)) {
    out.line("  {:>10.2f}  {}{}", s, as_chance(meeting_probability(s, b)), s == t ? "  <- threshold" : "");
  }
  out.line("");
  out.raw(
      draw_curve({.curve = [b](double s) { return meeting_probability(s, b); },
                  .mark = t,
                  .mark_label = fmt::format("threshold {:g}; steepest at {:.2f}", t, steepest_similarity(b))},
                 utf8));
}

void show_cost(Lines& out, const TuneReport& r) {
  const IndexShape shape = index_shape(r, r.engine.rule.banding);
  const IndexCost cost = index_cost(shape);
  out.line("");
  out.line("Cost, computed from the layout of the index; duplicates take nothing");
  out.line("");
  out.line("  {:<8}{:>13}  {:>20}", "", "an original", "a million originals");
  out.line("  {:<8}{:>13}  {:>20}   slots and digest {:.0f}, tables {:.0f}{}", "memory",
           fmt::format("{:.0f} bytes", cost.memory()), with_unit(cost.memory() * 1e6), cost.row, cost.tables,
           cost.prints == 0 ? "" : fmt::format(", prints {:.0f}", cost.prints));
  out.line("  {:<8}{:>13}  {:>20}   slots and digest {:.0f}, set and metadata {:.0f}", "disk",
           fmt::format("{:.0f} bytes", cost.disk()), with_unit(cost.disk() * 1e6), cost.hot, cost.body);
  out.line("  {}: {:.0f} shingles and {:.0f} bytes of metadata for a document",
           r.sample.has_value() ? "measured on the sample" : "assumed", shape.shingles_per_document,
           shape.metadata_bytes);
  if (r.engine.rule.max_documents != 0) {
    out.line("  max_documents, max_memory: {} originals are kept at most, in {}",
             about(r.engine.rule.max_documents),
             with_unit(static_cast<double>(r.engine.rule.max_documents) * cost.memory()));
  }
  if (r.memory_budget != 0) {
    out.line("  {} of memory hold about {} originals ({} on disk)",
             with_unit(static_cast<double>(r.memory_budget)),
             about(static_cast<double>(r.memory_budget) / cost.memory()),
             with_unit(static_cast<double>(r.memory_budget) / cost.memory() * cost.disk()));
    if (const std::optional<WithSegments> with = with_segments(r, cost)) {
      out.line("  with the setting memory: about {} originals, of which {} are in tables ({} on disk)",
               about(with->originals), about(with->young), with_unit(with->disk));
    }
  }
}

void show_relations(Lines& out, const TuneReport& r) {
  const RelationRule& rule = r.engine.rule.relations;
  if (!rule.on()) return;
  const IndexShape shape = index_shape(r, r.engine.rule.banding);
  out.line("");
  out.line("Relations: passages of {} words", rule.passage + rule.shingle_words - 1);
  out.line("");
  out.line(
      "  A document is looked up by {:.0f} prints beside its {} bands. A passage that two long documents",
      prints_asked(shape.passage, shape.shingles_per_document), r.engine.rule.banding.bands);
  out.line("  share is found, by its length; an original of 30 words or more in a later document always is:");
  out.line("");
  out.line("  {:>10}  {}", "words", "found");
  for (const uint32_t words : passages_around(r))
    out.line("  {:>10}  {}", words, as_chance(passage_found(rule.passage, words - rule.shingle_words + 1)));
}

void show_work(Lines& out, const TuneReport& r) {
  const Rule& rule = r.engine.rule;
  const WastedWork work = wasted_work(rule, r.engine.scheme.num_perm, kSpread);
  const double by_chance =
      kUnrelatedCount * meeting_probability(equal_slice_chance(kUnrelated), rule.banding);
  out.line("");
  out.line("Work in vain");
  out.line("");
  out.line(
      "  Of {:.0f} originals spread evenly over the similarities below the threshold, a document meets "
      "{:.1f};",
      kSpread, work.met);
  out.line(
      "  {:.1f} of them have enough equal slots to be verified. Of a million unrelated ones (similarity "
      "{:g})",
      work.verified, kUnrelated);
  out.line("  it meets {:.2g}.", by_chance);
}

void show_alternatives(Lines& out, const TuneReport& r) {
  const double t = threshold_of(r);
  const double lower = std::max(t - 0.1, 0.0);
  out.line("");
  out.line("Other bands and rows: more of a pair at the threshold meet, or fewer of those below it");
  out.line("");
  out.line("  {:>12}  {:>12}  {:>12}  {:>10}  {:>9}", "bands x rows", fmt::format("meet at {:.2f}", t),
           fmt::format("at {:.2f}", lower), "in vain", "memory");
  for (const Alternative& a : alternatives(r)) {
    Rule rule = r.engine.rule;
    rule.banding = a.banding;
    out.line("{} {:>12}  {:>12}  {:>12}  {:>10.1f}  {:>9}{}", a.chosen ? '>' : ' ',
             fmt::format("{} x {}", a.banding.bands, a.banding.rows),
             as_chance(meeting_probability(t, a.banding)), as_chance(meeting_probability(lower, a.banding)),
             wasted_work(rule, r.engine.scheme.num_perm, kSpread).met,
             fmt::format("{:.0f} B", index_cost(index_shape(r, a.banding)).memory()),
             a.reaches_recall ? "" : "  below recall");
  }
}

// Draws a bar for each step of .05 from .3 on. The scale is logarithmic, because counts of pairs span many
// powers of ten.
void show_histogram(Lines& out, const StudyResult& s, bool utf8) {
  constexpr int kStep = 5;
  constexpr int kWidth = 34;
  std::vector<uint64_t> sums;
  for (int i = 30; i < 100; i += kStep) {
    uint64_t sum = 0;
    for (int j = i; j < i + kStep; ++j) sum += s.pairs[j];
    sums.push_back(sum);
  }
  const double most = std::log10(1.0 + static_cast<double>(*std::max_element(sums.begin(), sums.end())));
  out.line("  {:>11}  {:>13}", "similarity", "pairs");
  for (size_t i = 0; i < sums.size(); ++i) {
    const double from = 0.3 + static_cast<double>(i) * kStep / 100;
    out.line("  {:.2f} - {:.2f}  {:>13}  {}", from, from + kStep / 100.0, with_commas(sums[i]),
             draw_bar(most == 0 ? 0 : std::log10(1.0 + static_cast<double>(sums[i])) / most, kWidth, utf8));
  }
  out.line("  (bars are logarithmic)");
}

uint64_t pairs_near(const StudyResult& s, double threshold) {
  const int middle = static_cast<int>(std::lround(threshold * 100));
  uint64_t sum = 0;
  for (int i = std::max(0, middle - 2); i < std::min(100, middle + 2); ++i) sum += s.pairs[i];
  return sum;
}

void show_valley(Lines& out, const TuneReport& r) {
  const Valley& v = r.sample->result.valley;
  const double t = threshold_of(r);
  out.line("");
  if (!v.clear) {
    out.line(
        "  No threshold stands out: between 0.50 and 0.95 the sample's pairs are spread evenly. {} pairs lie "
        "within",
        with_commas(pairs_near(r.sample->result, t)));
    out.line("  0.02 of {:g}, and their verdicts hang on its exact value.", t);
    return;
  }
  out.line(
      "  A threshold that fits: {:.2f}, the middle of the widest stretch between 0.50 and 0.95 in which "
      "pairs are",
      v.threshold);
  out.line("  rare ({:.2f} to {:.2f}; {} pairs lie in it). Within 0.02 of {:g} lie {} pairs{}.", v.from, v.to,
           with_commas(v.pairs_in_it), t, with_commas(pairs_near(r.sample->result, t)),
           t >= v.from && t <= v.to ? "; it is in that stretch, too" : "");
}

// How many documents are parts of others, with examples.
void show_parts(Lines& out, const SampleParts& parts) {
  constexpr size_t kNameMost = 40;
  const auto [contained, contains, shares] = parts.unique;
  const uint32_t words = parts.rule.passage + parts.rule.shingle_words - 1;
  out.line("");
  out.line("  Copies of a part (relations), of {} documents in their order, {} of them near copies:",
           with_commas(parts.documents), with_commas(parts.near));
  out.line("");
  const auto count = [&](std::string_view name, uint64_t n, const std::string& what) {
    out.line("  {:<10} {:>9}  {:>5.1f} %  {}", name, with_commas(n),
             100.0 * static_cast<double>(n) / static_cast<double>(std::max<uint64_t>(1, parts.documents)),
             what);
  };
  const double containment = parts.rule.containment_ppm / 1e6;
  count("contained", contained, fmt::format("an earlier one has {:g} of it or more", containment));
  count("contains", contains, fmt::format("it has {:g} or more of an earlier one", containment));
  count("shares", shares, fmt::format("it has a passage of {} words of an earlier one", words));
  for (const SampleParts::Example& e : parts.examples) {
    out.line("    {} {} {}: {:.0f} % of it, {:.0f} % of the other one", one_line(e.document, kNameMost),
             e.relation == Relation::contained  ? "is in"
             : e.relation == Relation::contains ? "has"
                                                : "shares with",
             one_line(e.original, kNameMost), e.of_document_ppm / 1e4, e.of_original_ppm / 1e4);
  }
}

void show_sample(Lines& out, const TuneReport& r, bool utf8) {
  const TuneSample& sample = *r.sample;
  const StudyResult& s = sample.result;
  out.line("");
  out.line("Measured on {} of {}",
           sample.whole && s.left_out == 0 ? fmt::format("all {} documents", with_commas(s.documents))
                                           : fmt::format("the first {} documents", with_commas(s.documents)),
           one_line(sample.name, 200));
  out.line("");
  if (!sample.whole || s.left_out != 0) {
    out.line("  The first ones and not some at random, because that would tear pairs apart.{}",
             s.left_out != 0 ? " More of them share so much\n  that comparing all pairs would take too long."
             : sample.full   ? " More would take too much memory."
                             : "");
  }
  out.line("  On average {} of text, {:.0f} shingles, a set of {:.0f} bytes.", with_unit(s.bytes), s.shingles,
           s.set_bytes);
  auto left_out = [&](uint64_t n, std::string_view why) {
    if (n != 0) out.line("  {} {}", with_commas(n), why);
  };
  left_out(sample.rejected, "records could not be read");
  for (const std::string& message : sample.messages) out.line("    {}", one_line(message, 200));
  left_out(sample.without_text, "documents have no text");
  left_out(sample.too_short, "documents have fewer words than a shingle");
  if (s.documents < 2) return;
  out.line("");
  show_histogram(out, s, utf8);
  out.line("");
  out.line("  {:>9}  {:>16}  {:>12}", "threshold", "pairs at or above", "duplicates");
  for (const auto& at : s.thresholds) {
    out.line("  {:>9.2f}  {:>16}   {:>12}  {:.1f} %", at.threshold, with_commas(at.pairs),
             with_commas(at.duplicates), 100.0 * at.duplicates / s.documents);
  }
  out.line("");
  const double documents = static_cast<double>(s.documents);
  if (s.pairs_similar == 0) {
    out.line("  found      no pair is at or above {:g}", threshold_of(r));
  } else {
    out.line("  found      {} of {} pairs at or above {:g} ({:.2f} %)", with_commas(s.pairs_found),
             with_commas(s.pairs_similar), threshold_of(r), 100.0 * s.pairs_found / s.pairs_similar);
  }
  out.line("  originals  {}", with_commas(s.originals));
  out.line(
      "  work       a document meets {:.3g} earlier originals; {:.3g} have enough equal slots to be "
      "verified, "
      "{:.3g} in vain",
      s.met / documents, s.candidates / documents, s.candidates_false / documents);
  if (s.estimates > 0) {
    out.line("  estimate   a signature alone is off by {:.4f} (RMSE, {} pairs of similarity 0.3 and more)",
             s.estimate_rmse, with_commas(s.estimates));
  }
  show_valley(out, r);
  if (sample.parts) show_parts(out, *sample.parts);
}

// Compares the measurements of the two extractions.
void show_extractions(Lines& out, const TuneReport& r) {
  const StudyResult& a = r.sample->result;
  const StudyResult& b = r.other->result;
  out.line("");
  out.line("The same pages by input.extract: {} (above) and {}", r.extract, r.other_extract);
  out.line("");
  out.line("  {:<22}  {:>12}  {:>12}", "", r.extract, r.other_extract);
  out.line("  {:<22}  {:>12}  {:>12}", "documents with text", with_commas(a.documents),
           with_commas(b.documents));
  out.line("  {:<22}  {:>12}  {:>12}", "text on average", with_unit(a.bytes), with_unit(b.bytes));
  for (size_t i = 0; i < a.thresholds.size() && i < b.thresholds.size(); ++i) {
    out.line("  {:<22}  {:>12}  {:>12}", fmt::format("duplicates at {:.2f}", a.thresholds[i].threshold),
             with_commas(a.thresholds[i].duplicates), with_commas(b.thresholds[i].duplicates));
  }
}

void show_advice(Lines& out, const TuneReport& r) {
  if (r.advice.empty()) return;
  out.line("");
  out.line("Advice, measured on the same documents");
  for (const Advice& advice : r.advice) {
    out.line("");
    out.raw("  " +
            absl::StrReplaceAll(
                wrapped(fmt::format("{} {} {} are found, and {} with:", advice.why, with_commas(advice.now),
                                    advice.what, with_commas(advice.advised)),
                        96),
                {{"\n", "\n  "}}) +
            "\n");
    out.line("    doppel scan {} --html report.html {}", advice.flags, one_line(r.sample->name, 200));
  }
  out.line("");
  out.line("  The page shows copies beside their originals: look whether they are what you want to find.");
}

}  // namespace

std::string tune_text(const TuneReport& report, bool utf8) {
  Lines out;
  show_rule(out, report);
  show_curve(out, report, utf8);
  show_cost(out, report);
  show_relations(out, report);
  show_work(out, report);
  show_alternatives(out, report);
  if (report.sample.has_value()) show_sample(out, report, utf8);
  if (report.other.has_value()) show_extractions(out, report);
  show_advice(out, report);
  return out.take();
}

}  // namespace doppel
