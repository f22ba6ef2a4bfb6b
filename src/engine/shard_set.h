#pragma once
// Which originals an owner has. Originals are spread by number over virtual shards: shard s of V has those
// whose number is s modulo V. An owner of a set of shards numbers its originals densely, in the same order;
// its index knows only these local numbers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "index/index.h"

namespace doppel {

class ShardSet {
 public:
  ShardSet() = default;  // a single shard: every original, with its own number
  // `own` is ascending, below `shard_count`, and not empty.
  ShardSet(uint32_t shard_count, std::vector<uint32_t> own);

  uint32_t of() const { return shard_count_; }
  const std::vector<uint32_t>& own() const { return own_; }
  bool owns(Seq seq) const { return rank_[seq % shard_count_ + 1] != rank_[seq % shard_count_]; }
  // The number of own originals below `seq`. For an own original, this is its local number.
  Seq local(Seq seq) const { return seq / shard_count_ * own_.size() + rank_[seq % shard_count_]; }
  Seq global(Seq local) const { return local / own_.size() * shard_count_ + own_[local % own_.size()]; }

  std::string text() const;  // "0-15/64"
  bool operator==(const ShardSet&) const = default;

 private:
  uint32_t shard_count_ = 1;
  std::vector<uint32_t> own_{0};
  std::vector<uint32_t> rank_{0, 1};  // by shard: number of own shards below it
};

// Parses "0-15/64" or "0,4-7/8": which shards of how many, each named once. The error says what would be
// right.
absl::StatusOr<ShardSet> parse_shards(std::string_view text);

// The owner of each shard. Every shard has exactly one.
class Owners {
 public:
  Owners() = default;  // one owner of everything
  explicit Owners(const std::vector<ShardSet>& sets);

  size_t count() const { return count_; }
  size_t of(Seq seq) const { return owner_[seq % owner_.size()]; }
  bool operator==(const Owners&) const = default;

 private:
  size_t count_ = 1;
  std::vector<uint32_t> owner_{0};  // by shard
};

}  // namespace doppel
