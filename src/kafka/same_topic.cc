#include "kafka/same_topic.h"

#include "base/mutation.h"

namespace doppel::kafka {

SameTopic is_same_topic(IdIs id, Found found, Left left, Note note) {
  switch (id) {
    case IdIs::other:
      return SameTopic::read_again;
    case IdIs::former:
      return SameTopic::wait;
    case IdIs::same:
      if (!differs(found)) return SameTopic::go_on;
      if (found == Found::gone) return SameTopic::wait;
      return mutated(Mutation::a_lost_tail_is_a_new_topic) ? SameTopic::read_again : SameTopic::lost;
    case IdIs::unknown:
      break;
  }
  if (found == Found::same) return SameTopic::go_on;
  if (found == Found::removed) {
    const bool known = left == Left::some || note == Note::kept || note == Note::never;
    return known ? SameTopic::go_on : SameTopic::unclear;
  }
  if (found == Found::gone) return left == Left::some ? SameTopic::wait : SameTopic::read_again;
  if (note == Note::kept) {
    if (mutated(Mutation::a_lost_tail_is_a_new_topic)) return SameTopic::read_again;
    return left == Left::none ? SameTopic::read_all : SameTopic::lost;
  }
  return note == Note::gone && left != Left::some ? SameTopic::read_again : SameTopic::unclear;
}

}  // namespace doppel::kafka
