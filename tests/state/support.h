#pragma once
// An index to write and to recognise. Everything about original s of seed x follows from (x, s), so a model
// of the state after each commit is a handful of numbers, and everything that a reopened directory shows can
// be compared with it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "state/state_dir.h"

namespace doppel::state_test {

class TempDir {
 public:
  TempDir() {
    // In memory if possible, because the damage tests replace some thousand files.
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    std::string name = (memory ? "/dev/shm/" : testing::TempDir()) + "doppel-state-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}
inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

constexpr int kNumPerm = 18;  // not a multiple of 4, so that rows are padded
constexpr int kMaskWords = 2;

inline StateOptions options_of(const std::string& directory, Fsync fsync = Fsync::none,
                               uint64_t checkpoint_documents = 1'000'000) {
  return {.directory = directory,
          .data_scheme = "hash_key=0badcafe\nshingle_words=5\n",
          .rule = "threshold=0.8\n",
          .num_perm = kNumPerm,
          .mask_words = kMaskWords,
          .fsync = fsync,
          .checkpoint_documents = checkpoint_documents,
          .sync_outputs = {}};
}

struct Content {  // of one original
  std::vector<uint8_t> slices;
  Digest digest;
  uint64_t id_tag = 0;
  int64_t timestamp_ms = 0;
  std::vector<uint32_t> mask;
  std::string metadata, set;
  bool has_slices = true, has_body = true;
};

inline Content content_of(uint64_t seed, Seq seq) {
  std::mt19937_64 random(seed * 1'000'003 + seq);
  Content c;
  for (int i = 0; i < kNumPerm; ++i) c.slices.push_back(static_cast<uint8_t>(random()));
  c.digest = {random(), random()};
  c.id_tag = random();
  c.timestamp_ms = static_cast<int64_t>(random());
  c.has_slices = random() % 8 != 0;
  for (int i = 0; i < kMaskWords; ++i) c.mask.push_back(c.has_slices ? static_cast<uint32_t>(random()) : 0);
  c.has_body = random() % 8 != 0;
  c.metadata = "meta " + std::to_string(seq) + std::string(random() % 40, 'm');
  for (auto n = random() % 40; n > 0; --n) c.set.push_back(static_cast<char>(random()));
  return c;
}

// The state after a commit.
struct Model {
  uint64_t documents = 0;
  Seq next_seq = 0;
  Seq lowest_live = 0;
  std::set<Seq> removed;
  std::map<Seq, std::string> shown;
  std::string source, sink, clock;
};

// Makes commit number `number` (from 1) of this seed, on top of `model`.
inline Model next_model(uint64_t seed, uint64_t number, const Model& model, std::vector<Seq>* removed_now,
                        std::vector<Shown>* shown_now) {
  std::mt19937_64 random(seed * 7919 + number);
  Model next = model;
  next.next_seq += random() % 7;
  next.documents += 1 + random() % 9;
  if (random() % 4 == 0) next.lowest_live += random() % (next.next_seq - next.lowest_live + 1) / 3;
  for (auto n = random() % 3; n > 0 && next.next_seq > next.lowest_live; --n) {
    removed_now->push_back(next.lowest_live + random() % (next.next_seq - next.lowest_live));
    next.removed.insert(removed_now->back());
  }
  for (auto n = random() % 4; n > 0 && next.next_seq > next.lowest_live; --n) {
    const Seq seq = next.lowest_live + random() % (next.next_seq - next.lowest_live);
    shown_now->push_back({seq, "copy " + std::to_string(random())});
    next.shown[seq] = shown_now->back().copy;
  }
  std::erase_if(next.shown, [&](const auto& each) {
    return next.removed.contains(each.first) || each.first < next.lowest_live;
  });
  next.source = "source " + std::to_string(number);
  next.sink = std::to_string(number);
  next.clock = "clock" + std::string(random() % 20, 'c');
  return next;
}

inline absl::Status write_commit(StateDir& state, uint64_t seed, const Model& before, const Model& after,
                                 const std::vector<Seq>& removed, const std::vector<Shown>& shown) {
  std::vector<Content> contents;
  for (Seq seq = before.next_seq; seq < after.next_seq; ++seq) contents.push_back(content_of(seed, seq));
  Commit commit;
  for (Seq seq = before.next_seq; seq < after.next_seq; ++seq) {
    const Content& c = contents[seq - before.next_seq];
    StoredRow stored;
    stored.seq = seq;
    stored.trusted_ms = c.timestamp_ms;
    stored.row.slices = c.has_slices ? c.slices.data() : nullptr;
    stored.row.digest = c.digest;
    stored.row.id_tag = c.id_tag;
    stored.row.mask = c.mask.data();
    if (c.has_body) {
      absl::StatusOr<BodyRef> ref = state.bodies().append({.metadata = c.metadata, .coded_set = c.set});
      if (!ref.ok()) return ref.status();
      stored.row.body = *ref;
    }
    commit.rows.push_back(stored);
  }
  commit.removed = removed;
  commit.shown = shown;
  commit.lowest_live = after.lowest_live;
  commit.documents = after.documents;
  commit.source_position = after.source;
  commit.sink_position = after.sink;
  commit.clock = after.clock;
  return state.commit(commit);
}

// models[i] is the state after i commits.
class Writer {
 public:
  explicit Writer(uint64_t seed, bool shows = true) : seed_(seed), shows_(shows), models_(1) {}
  const std::vector<Model>& models() const { return models_; }
  const Model& model(size_t i) const { return models_[i]; }
  const Model& plan() {
    removed_.clear();
    shown_.clear();
    models_.push_back(next_model(seed_, models_.size(), models_.back(), &removed_, &shown_));
    if (!shows_) {
      shown_.clear();
      models_.back().shown.clear();
    }
    return models_.back();
  }
  absl::Status commit(StateDir& state) {
    const Model after = plan();
    return write_commit(state, seed_, models_[models_.size() - 2], after, removed_, shown_);
  }
  void back_to(size_t commits) { models_.resize(commits + 1); }
  uint64_t seed() const { return seed_; }

 private:
  uint64_t seed_;
  bool shows_;  // clusters show better copies
  std::vector<Model> models_;
  std::vector<Seq> removed_;
  std::vector<Shown> shown_;
};

// Compares the whole content of `state` with `model`. Returns "" if they are equal. Returns a DataLoss of a
// row or body as "damaged: ...".
inline std::string difference(StateDir& state, uint64_t seed, const Model& model) {
  const Recovered& r = state.recovered();
  if (r.documents != model.documents) return "documents";
  if (r.next_seq != model.next_seq) return "next_seq";
  if (r.lowest_live != model.lowest_live || r.first_row != model.lowest_live) return "lowest_live";
  if (r.source_position != model.source) return "source";
  if (r.sink_position != model.sink) return "sink";
  if (r.clock != model.clock) return "clock";
  if (r.fresh != model.source.empty()) return "fresh";
  for (Seq seq = 0; seq < r.next_seq; ++seq) {
    const auto shown = model.shown.find(seq);
    const std::string* found = state.shown(seq);
    if (found == nullptr ? shown != model.shown.end() : shown == model.shown.end() || *found != shown->second)
      return "what the cluster of " + std::to_string(seq) + " shows";
  }
  std::string wrong;
  Seq expected = r.first_row;
  std::string buffer;
  const absl::Status status = state.load_rows([&](const StoredRow& stored) {
    if (!wrong.empty()) return;
    const std::string at = " of row " + std::to_string(stored.seq);
    if (stored.seq != expected++) {
      wrong = "number" + at;
      return;
    }
    const Content c = content_of(seed, stored.seq);
    if ((stored.row.slices != nullptr) != c.has_slices) {
      wrong = "presence of slices" + at;
    } else if (c.has_slices && !std::equal(c.slices.begin(), c.slices.end(), stored.row.slices)) {
      wrong = "slices" + at;
    } else if (!(stored.row.digest == c.digest)) {
      wrong = "digest" + at;
    } else if (stored.trusted_ms != c.timestamp_ms) {
      wrong = "record time" + at;
    } else if (stored.row.id_tag != c.id_tag) {
      wrong = "id tag" + at;
    } else if (c.has_slices && !std::equal(c.mask.begin(), c.mask.end(), stored.row.mask)) {
      wrong = "mask" + at;
    } else if ((stored.row.body.size != 0) != c.has_body) {
      wrong = "presence of a body" + at;
    } else if (stored.removed != model.removed.contains(stored.seq)) {
      wrong = "removed" + at;
    } else if (c.has_body) {
      const absl::StatusOr<Body> body = state.bodies().read(stored.row.body, buffer);
      if (!body.ok()) {
        wrong = "damaged: " + std::string(body.status().message());
      } else if (body->metadata != c.metadata || body->coded_set != c.set) {
        wrong = "body" + at;
      }
    }
  });
  if (!status.ok() && wrong.empty()) wrong = "damaged: " + std::string(status.message());
  if (wrong.empty() && expected != model.next_seq) wrong = "number of rows";
  return wrong;
}

// Returns the commit whose state `state` shows; -1 and a failure if there is none.
inline int matching(StateDir& state, const Writer& writer) {
  for (size_t i = 0; i < writer.models().size(); ++i) {
    if (writer.model(i).documents != state.recovered().documents) continue;
    const std::string wrong = difference(state, writer.seed(), writer.model(i));
    if (wrong.empty()) return static_cast<int>(i);
    ADD_FAILURE() << "commit " << i << ", seed " << writer.seed() << ": " << wrong;
    return -1;
  }
  ADD_FAILURE() << "no commit judged " << state.recovered().documents << " documents, seed " << writer.seed();
  return -1;
}

}  // namespace doppel::state_test
