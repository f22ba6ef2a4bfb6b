// Binds the page of `doppel scan --html` for rows whose verdicts Python has: columns of numbers in, HTML out.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bind.h"
#include "errors.h"
#include "fmt/format.h"
#include "insight/scan_page.h"
#include "nanobind/ndarray.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/tuple.h"
#include "nanobind/stl/vector.h"
#include "record_signing.h"

namespace doppel::python {
namespace {

using Sets = std::vector<std::pair<std::string, std::string>>;
using Numbers = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Place = std::pair<uint64_t, uint64_t>;  // number of the file, row

// A row, as _choice.packed() and _clusters.how() write it.
struct Row {
  Row(uint64_t packed, uint64_t how)
      : verdict(packed >> 60),
        seq(packed & ((uint64_t{1} << 60) - 1)),
        kind(how >> 32),
        similarity_ppm(how) {}
  bool is_original() const { return verdict == 0; }
  bool is_copy() const { return verdict == 1; }
  bool is_unscored() const { return verdict == 2; }
  bool is_exact() const { return kind == 1; }

  uint64_t verdict;
  Seq seq;
  uint64_t kind;
  uint32_t similarity_ppm;
};

// The rows of all files come twice: first all are counted, then the ones that the page shows are looked for.
class Report {
 public:
  explicit Report(std::vector<std::string> files) : files_(std::move(files)) {}

  void count(uint64_t file, const Numbers& rows, const Numbers& hows, const Numbers& bytes) {
    check(file, rows, hows);
    if (bytes.size() != rows.size()) throw nb::value_error("bytes: not one for each row");
    PagePlace place{.name = files_[file]};
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row row(rows.data()[i], hows.data()[i]);
      page_.unique += row.is_original() ? 1 : 0;
      unscored_ += row.is_unscored() ? 1 : 0;
      if (!row.is_original() && !row.is_copy()) continue;
      ++place.documents;
      page_.bytes += bytes.data()[i];
      if (!row.is_copy()) continue;
      ++place.copies;
      place.bytes += bytes.data()[i];
      ++(row.is_exact() ? page_.exact : row.kind == 2 ? page_.near : page_.partial);
      Count& group = groups_[row.seq];
      ++group.copies;
      group.exact += row.is_exact() ? 1 : 0;
      group.bytes += bytes.data()[i];
    }
    page_.copied_bytes += place.bytes;
    page_.folders.most.push_back(std::move(place));
  }

  // Call it once, after count().
  void choose() {
    std::vector<std::pair<Seq, const Count*>> order;
    for (const auto& [seq, group] : groups_) order.emplace_back(seq, &group);
    const size_t shown = std::min(order.size(), kScanGroups);
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(shown), order.end(),
                      [](const auto& a, const auto& b) {
                        return std::tuple(b.second->copies, b.second->bytes, a.first) <
                               std::tuple(a.second->copies, a.second->bytes, b.first);
                      });
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& [seq, group] = order[i];
      if (i < shown) {
        shown_[seq] = page_.groups.size();
        page_.groups.push_back({.original = {"a document that the index had before", "", {}},
                                .copies = group->copies,
                                .exact = group->exact,
                                .bytes = group->bytes,
                                .first = {}});
      } else {
        ++page_.other_groups;
        page_.other_copies += group->copies;
        page_.other_bytes += group->bytes;
      }
    }
  }

  void look(uint64_t file, const Numbers& rows, const Numbers& hows) {
    check(file, rows, hows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row row(rows.data()[i], hows.data()[i]);
      if (row.is_original() && groups_.contains(row.seq)) ++own_;
      const auto found = row.is_original() || row.is_copy() ? shown_.find(row.seq) : shown_.end();
      if (found == shown_.end()) continue;
      PageGroup& group = page_.groups[found->second];
      PageDocument document{.name = fmt::format("{}, row {}", files_[file], i),
                            .event_id = fmt::format("{}/{}", file, i),
                            .text = {}};
      if (row.is_original()) {
        group.original = std::move(document);
      } else if (const Kind kind = row.is_exact() ? Kind::exact : Kind::near; takes_copy(group.first, kind)) {
        group.first.push_back({std::move(document), kind, row.similarity_ppm});
      }
    }
  }

  // The rows whose texts and ids the page shows.
  std::vector<Place> shown() {
    std::vector<Place> out;
    each_shown([&](const PageDocument& document) { out.push_back(place_of(document)); });
    std::sort(out.begin(), out.end());
    return out;
  }

  void set(uint64_t file, uint64_t row, const std::optional<std::string>& name, const std::string& text) {
    each_shown([&](PageDocument& document) {
      if (place_of(document) != Place{file, row}) return;
      if (name) document.name = *name;
      document.text = text.substr(0, kScanTextBytes);
    });
  }

  nb::bytes html(const std::string& input, const Sets& sets, const std::string& hash_key) {
    const SigningSettings settings = value_or_raise(signing_settings(sets, hash_key));
    page_.input = input;
    page_.rule = rule_in_words(settings.engine);
    page_.documents = page_.unique + page_.exact + page_.near + page_.partial;
    std::vector<uint64_t> copies;
    copies.reserve(groups_.size());
    for (const auto& [seq, group] : groups_) copies.push_back(group.copies);
    page_.times = times_of(copies, page_.unique - own_);
    if (unscored_ != 0) page_.not_compared = {{"no text of their own", unscored_}};
    PagePlaces& places = page_.folders;
    std::stable_sort(places.most.begin(), places.most.end(),
                     [](const PagePlace& a, const PagePlace& b) { return a.bytes > b.bytes; });
    if (places.most.size() > kScanPlaces) {
      places.others = places.most.size() - kScanPlaces;
      places.most.resize(kScanPlaces);
    }
    const std::string page = scan_page(page_, settings.engine);
    return nb::bytes(page.data(), page.size());
  }

 private:
  struct Count {
    uint32_t copies = 0, exact = 0;
    uint64_t bytes = 0;
  };
  void check(uint64_t file, const Numbers& rows, const Numbers& hows) const {
    if (file >= files_.size() || rows.size() != hows.size())
      throw nb::value_error("report: these are no rows of a file");
  }
  static Place place_of(const PageDocument& document) {
    const size_t slash = document.event_id.find('/');
    return {std::stoull(document.event_id), std::stoull(document.event_id.substr(slash + 1))};
  }
  template <typename Use>
  void each_shown(const Use& use) {
    for (PageGroup& group : page_.groups) {
      if (!group.original.event_id.empty()) use(group.original);
      for (PageCopy& copy : group.first) use(copy.document);
    }
  }

  std::vector<std::string> files_;
  ScanPage page_;
  absl::flat_hash_map<Seq, Count> groups_;  // by the number of the original
  absl::flat_hash_map<Seq, size_t> shown_;  // -> page_.groups
  uint64_t own_ = 0;                        // originals among the rows that have copies
  uint64_t unscored_ = 0;
};

}  // namespace

void bind_report(nb::module_& m) {
  nb::class_<Report>(m, "Report")
      .def(nb::init<std::vector<std::string>>(), nb::arg("files"))
      .def("count", &Report::count, nb::arg("file"), nb::arg("rows"), nb::arg("hows"), nb::arg("bytes"))
      .def("choose", &Report::choose)
      .def("look", &Report::look, nb::arg("file"), nb::arg("rows"), nb::arg("hows"))
      .def("shown", &Report::shown)
      .def("set", &Report::set, nb::arg("file"), nb::arg("row"), nb::arg("name").none(), nb::arg("text"))
      .def("html", &Report::html, nb::arg("input"), nb::arg("sets"), nb::arg("hash_key"));
}

}  // namespace doppel::python
