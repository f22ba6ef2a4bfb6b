#pragma once
// Faults that only tests put in: places where the process dies, and known bugs that come back.

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// Named places at which the crash tests end the process, as a power cut would. DOPPEL_KILL_AT=NAME:COUNT
// makes the process send SIGKILL to itself at its COUNT-th pass through kill_point("NAME"); separate several
// by commas. Without the variable, a kill point costs one branch. A simulation installs its own function
// instead.
class KillPoints {
 public:
  // Ignores parts that are not NAME:COUNT with COUNT > 0.
  explicit KillPoints(std::string_view spec);
  // Counts a pass by any thread. Returns true if the process must die here.
  bool pass(std::string_view name);

 private:
  struct Point {
    std::string name;
    std::atomic<uint64_t> left;
    Point(std::string_view n, uint64_t count) : name(n), left(count) {}
    Point(Point&& other) noexcept : name(std::move(other.name)), left(other.left.load()) {}
  };
  std::vector<Point> points_;
};

namespace kill_point_internal {
extern bool armed;
void pass(std::string_view name);
}  // namespace kill_point_internal

// Calls `function` at every kill point instead. Call it before other threads start.
void on_kill_points(std::function<void(std::string_view name)> function);

inline void kill_point(std::string_view name) {
  if (kill_point_internal::armed) [[unlikely]]
    kill_point_internal::pass(name);
}

// Known bugs that the simulation puts back one by one, to prove that it finds them. Nothing else sets one.
// Each place that asks costs one branch.
enum class Mutation {
  none,
  the_end_is_taken_before_the_claim,
  foreign_records_are_skipped,
  answers_are_trusted,
  only_the_last_batch,
  only_one_batch_is_kept,
  nothing_is_dropped,
  nothing_is_looked_up,
  nothing_is_settled,
  nothing_is_noted,
  any_part_is_whole,
  unknown_is_committed,
  offsets_are_not_checked,
  progress_of_late_topics_is_ignored,
  topics_are_not_compared,
  a_moved_index_keeps_its_places,
  a_moved_index_forgets_its_topics,
  repeats_are_copies,
  a_lost_tail_is_a_new_topic,
  a_topic_that_grew_again_is_the_same,
  holes_are_compacted,
  ids_are_not_asked,
  lost_tails_keep_their_places,
  outputs_are_inputs,
  refusals_are_repeated,
  columns_are_not_synced,
  numbers_are_given_again,
  prints_are_not_restored,
  better_copies_are_not_restored,
  newer_segments_stay,
  segments_forget_removals,
};

struct MutationInfo {
  Mutation mutation;
  std::string_view name, bug;
};
inline constexpr MutationInfo kMutations[] = {
    {Mutation::the_end_is_taken_before_the_claim, "the_end_is_taken_before_the_claim",
     "A start reads the log up to the end that it had before its claim."},
    {Mutation::foreign_records_are_skipped, "foreign_records_are_skipped",
     "Records of another owner behind the own ones are not looked for."},
    {Mutation::answers_are_trusted, "answers_are_trusted",
     "A commit that was answered is not looked up, though a connection broke (ADR 17)."},
    {Mutation::only_the_last_batch, "only_the_last_batch",
     "After a failure the batch before is not looked up (ADR 17)."},
    {Mutation::only_one_batch_is_kept, "only_one_batch_is_kept",
     "Of a transaction that held two batches, one is looked up after the next failure."},
    {Mutation::nothing_is_dropped, "nothing_is_dropped",
     "What hangs is not dropped before it is sent again (ADR 17)."},
    {Mutation::nothing_is_looked_up, "nothing_is_looked_up",
     "After a failure all is sent again, whatever readers see."},
    {Mutation::nothing_is_settled, "nothing_is_settled", "A start leaves what hangs as it is (ADR 17)."},
    {Mutation::nothing_is_noted, "nothing_is_noted",
     "A start aborts what hangs before it reads it (ADR 17)."},
    {Mutation::any_part_is_whole, "any_part_is_whole",
     "A start takes a part of a batch in the log for a whole one."},
    {Mutation::unknown_is_committed, "unknown_is_committed", "A commit whose answer is lost counts as done."},
    {Mutation::offsets_are_not_checked, "offsets_are_not_checked",
     "Records that were acknowledged without an offset count as stored (ADR 16)."},
    {Mutation::progress_of_late_topics_is_ignored, "progress_of_late_topics_is_ignored",
     "A topic that appears after the start is read from its beginning."},
    {Mutation::topics_are_not_compared, "topics_are_not_compared",
     "A topic that is made again while it is read is read on at the old offset."},
    {Mutation::a_moved_index_keeps_its_places, "a_moved_index_keeps_its_places",
     "An index that moves to other offsets of another cluster takes what is there for its originals."},
    {Mutation::a_moved_index_forgets_its_topics, "a_moved_index_forgets_its_topics",
     "After an index moved to other offsets, its originals come again as copies of themselves."},
    {Mutation::a_lost_tail_is_a_new_topic, "a_lost_tail_is_a_new_topic",
     "A topic whose brokers lost its last records is taken for another one."},
    {Mutation::a_topic_that_grew_again_is_the_same, "a_topic_that_grew_again_is_the_same",
     "The advice after a lost tail is to go on where the partition was read to."},
    {Mutation::holes_are_compacted, "holes_are_compacted",
     "A marker at the place of the last record is taken for a record that compaction removed."},
    {Mutation::ids_are_not_asked, "ids_are_not_asked",
     "A topic that is made again with the same records at the same times is the same."},
    {Mutation::lost_tails_keep_their_places, "lost_tails_keep_their_places",
     "After a lost tail, other records at the same offsets are taken for those before."},
    {Mutation::repeats_are_copies, "repeats_are_copies",
     "An original that comes again, because the input was moved back, is a copy of itself."},
    {Mutation::outputs_are_inputs, "outputs_are_inputs",
     "An expression that fits our own outputs reads them."},
    {Mutation::refusals_are_repeated, "refusals_are_repeated",
     "A record that its topic refuses is sent again as it is."},
    {Mutation::columns_are_not_synced, "columns_are_not_synced",
     "A checkpoint does not wait until its rows are on the disk."},
    {Mutation::numbers_are_given_again, "numbers_are_given_again",
     "A start from the log alone takes a removed original's number for a new one."},
    {Mutation::prints_are_not_restored, "prints_are_not_restored",
     "A start loses the prints of the originals that it reads."},
    {Mutation::better_copies_are_not_restored, "better_copies_are_not_restored",
     "A start forgets which clusters show a better copy than their original."},
    {Mutation::newer_segments_stay, "newer_segments_stay",
     "A start keeps segments of originals that its state directory does not have."},
    {Mutation::segments_forget_removals, "segments_forget_removals",
     "A start forgets which originals in segments were removed."},
};

inline Mutation active_mutation = Mutation::none;

inline bool mutated(Mutation mutation) { return active_mutation == mutation; }

}  // namespace doppel
