// Reading a directory without locking it: all that is stored, and a checksum of it.
#include "state/state_view.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support.h"

namespace doppel {
namespace {

using state_test::content_of;
using state_test::kMaskWords;
using state_test::kNumPerm;
using state_test::options_of;
using state_test::read_file;
using state_test::TempDir;
using state_test::write_file;
using state_test::Writer;

TEST(StateView, ShowsAllThatIsKept) {
  const TempDir dir;
  Writer writer(11);
  auto state = StateDir::open(options_of(dir.path(), Fsync::none, 20), {});
  ASSERT_TRUE(state.ok());
  while (writer.models().back().lowest_live < 10) ASSERT_TRUE(writer.commit(**state).ok());
  const state_test::Model& model = writer.models().back();
  // The directory is in use.
  auto view = StateView::open(dir.path());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ((*view)->last().next_seq, model.next_seq);
  EXPECT_EQ((*view)->last().lowest_live, model.lowest_live);
  EXPECT_EQ((*view)->epoch(), (*state)->epoch());
  constexpr uint64_t kRowBytes = 48 + 4 * kMaskWords + (kNumPerm + 3) / 4 * 4;
  EXPECT_EQ((*view)->hot_bytes(), kFileHeaderBytes + model.next_seq * kRowBytes);
  EXPECT_EQ((*view)->bodies_bytes(), (*view)->last().bodies_end);
  Seq next = (*view)->last().keep_from;
  std::vector<double> done;
  (*view)->read(
      [&](const StoredDocument& document) {
        const Seq seq = document.row.seq;
        EXPECT_EQ(seq, next++);
        EXPECT_EQ(document.live, seq >= model.lowest_live && !model.removed.contains(seq)) << seq;
        EXPECT_EQ(document.row.row.digest, content_of(11, seq).digest);
        if (document.row.row.body.size != 0) {
          EXPECT_EQ(document.body.metadata, content_of(11, seq).metadata);
        }
        const auto shown = model.shown.find(seq);
        if (document.live) {
          EXPECT_EQ(document.shown, shown == model.shown.end() ? "" : shown->second);
        }
        return true;
      },
      [&](double share) { done.push_back(share); });
  EXPECT_EQ(next, model.next_seq);
  ASSERT_FALSE(done.empty());
  EXPECT_EQ(done.back(), 1.0);
  EXPECT_TRUE((*view)->damage().empty());

  // A visitor may stop.
  int visited = 0;
  (*view)->read([&](const StoredDocument&) { return ++visited < 3; }, [](double) {});
  EXPECT_EQ(visited, 3);
}

std::vector<StoredRow> rows_of(StateView& view) {
  std::vector<StoredRow> out;
  view.read(
      [&](const StoredDocument& document) {
        out.push_back(document.row);
        return true;
      },
      [](double) {});
  return out;
}

// One damaged row or body costs that original alone, and each is named.
TEST(StateView, NamesAllDamageAndReadsTheRest) {
  const TempDir dir;
  Writer writer(13);
  {
    auto state = StateDir::open(options_of(dir.path(), Fsync::none, 20), {});
    ASSERT_TRUE(state.ok());
    while (writer.models().back().next_seq < 40) ASSERT_TRUE(writer.commit(**state).ok());
  }
  auto whole = StateView::open(dir.path());
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::vector<StoredRow> rows = rows_of(**whole);
  std::vector<Seq> with_body;
  for (const StoredRow& row : rows)
    if (row.row.body.size != 0) with_body.push_back(row.seq);
  ASSERT_GT(with_body.size(), 6u);
  const Seq first = with_body[1], second = with_body[with_body.size() / 2];
  std::string bodies = read_file(dir.file("bodies"));
  for (const StoredRow& row : rows)
    if (row.seq == first || row.seq == second) bodies[row.row.body.offset + row.row.body.size - 1] ^= 1;
  write_file(dir.file("bodies"), bodies);
  auto view = StateView::open(dir.path());
  ASSERT_TRUE(view.ok()) << view.status();
  std::set<Seq> read;
  for (const StoredRow& row : rows_of(**view)) read.insert(row.seq);
  EXPECT_EQ(read.size(), rows.size() - 2);
  EXPECT_FALSE(read.contains(first));
  EXPECT_FALSE(read.contains(second));
  ASSERT_EQ((*view)->damage().size(), 2u);
}

TEST(StateView, ReadsTheLiveRowsAlone) {
  const TempDir dir;
  Writer writer(12);
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    while (writer.models().back().lowest_live < 10) ASSERT_TRUE(writer.commit(**state).ok());
  }
  const state_test::Model& model = writer.models().back();
  auto view = StateView::open(dir.path());
  ASSERT_TRUE(view.ok());
  std::set<Seq> live;
  ASSERT_TRUE((*view)
                  ->live_rows([&](const StoredRow& row) {
                    live.insert(row.seq);
                    return absl::OkStatus();
                  })
                  .ok());
  for (Seq seq = 0; seq < model.next_seq; ++seq)
    EXPECT_EQ(live.contains(seq), seq >= model.lowest_live && !model.removed.contains(seq)) << seq;
  const absl::Status stopped =
      (*view)->live_rows([](const StoredRow&) { return absl::CancelledError("enough"); });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled);
}

// Everything that a live original has counts; where it is stored, and what is dead, does not.
TEST(StateView, TheChecksumIsThatOfTheContent) {
  std::vector<uint8_t> slices(kNumPerm, 1), others(kNumPerm, 2);
  std::vector<uint32_t> mask(kMaskWords, 1), other_mask(kMaskWords, 2);
  StoredRow row{.seq = 7};
  row.row.slices = slices.data();
  row.row.mask = mask.data();
  row.row.digest = {1, 2};
  StoredDocument document{
      .row = row, .live = true, .body = {.metadata = "m", .coded_set = "s"}, .shown = "c"};
  const auto sum = [&](const StoredDocument& of) {
    IndexChecksum out;
    out.add(of, kNumPerm, kMaskWords);
    return out.hex();
  };
  const std::string before = sum(document);
  EXPECT_EQ(before.size(), 16U);
  std::set<std::string> all{before};
  const auto changed = [&](auto change) {
    StoredRow other = row;
    StoredDocument copy{.row = other, .live = true, .body = document.body, .shown = document.shown};
    change(other, copy);
    EXPECT_TRUE(all.insert(sum(copy)).second) << all.size();
  };
  changed([](StoredRow& r, StoredDocument&) { r.seq = 8; });
  changed([](StoredRow& r, StoredDocument&) { r.row.digest.low = 9; });
  changed([](StoredRow& r, StoredDocument&) { r.row.digest.high = 9; });
  changed([&](StoredRow& r, StoredDocument&) { r.row.slices = others.data(); });
  changed([&](StoredRow& r, StoredDocument&) { r.row.mask = other_mask.data(); });
  changed([](StoredRow& r, StoredDocument&) { r.row.slices = nullptr; });
  changed([](StoredRow&, StoredDocument& d) { d.body.metadata = "ms"; });
  changed([](StoredRow&, StoredDocument& d) { d.body = {.metadata = "ms", .coded_set = ""}; });
  changed([](StoredRow&, StoredDocument& d) { d.body.coded_set = "t"; });
  changed([](StoredRow&, StoredDocument& d) { d.shown = "d"; });
  changed([](StoredRow&, StoredDocument& d) { d.shown = ""; });

  row.row.body = {.offset = 900, .size = 4};
  EXPECT_EQ(sum(document), before);
  IndexChecksum with_dead;
  with_dead.add({.row = row, .live = false, .body = {}}, kNumPerm, kMaskWords);
  with_dead.add(document, kNumPerm, kMaskWords);
  EXPECT_EQ(with_dead.hex(), before);
}

}  // namespace
}  // namespace doppel
