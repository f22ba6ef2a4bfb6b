#include "status/mailbox.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace doppel {
namespace {

using std::chrono::milliseconds;

TEST(OneAtATime, AdmitsOneCaller) {
  OneAtATime turn;
  int inside = 0, all = 0;  // guarded by the turn
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const OneAtATime::Lock one(turn, std::chrono::minutes(1));
        ASSERT_TRUE(one.owns());
        EXPECT_EQ(++inside, 1);
        ++all;
        --inside;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(all, 2000);
}

TEST(OneAtATime, SendsAwayWhoWaitsTooLong) {
  OneAtATime turn;
  {
    const OneAtATime::Lock one(turn, milliseconds(0));
    EXPECT_TRUE(one.owns());
    const OneAtATime::Lock other(turn, milliseconds(1));
    EXPECT_FALSE(other.owns());
  }
  const OneAtATime::Lock again(turn, milliseconds(0));
  EXPECT_TRUE(again.owns());
}

TEST(Mailbox, AQuestionRings) {
  const int bell = ::eventfd(0, EFD_CLOEXEC);
  Mailbox mailbox([bell] { ::eventfd_write(bell, 1); });
  bool answered = false;
  std::jthread pipeline([&] {
    eventfd_t rings = 0;
    ASSERT_EQ(::eventfd_read(bell, &rings), 0);  // waits for the bell
    mailbox.answer();
  });
  EXPECT_TRUE(mailbox.ask([&] { answered = true; }, std::chrono::minutes(1)));
  EXPECT_TRUE(answered);
  pipeline.join();
  ::close(bell);
}

}  // namespace
}  // namespace doppel
