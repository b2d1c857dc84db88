#include "serve/attempts/suspensions.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

TEST(Suspensions, AJobThatMayNotGoOnStaysSuspendedAndSaysWhy) {
  DaemonParts p;
  JobRecord& job = p.run_on("3g@4");
  p.suspensions->suspend(job);
  p.suspensions->carry_out();
  ASSERT_TRUE(job.suspended);
  EXPECT_FALSE(p.suspensions->others_beside(job));
  p.runner.alive.push_back({job.place.device, {99, 1}});
  EXPECT_TRUE(p.suspensions->others_beside(job)) << "an order is refused";
  p.suspensions->resume(job);  // one that was taken a moment before
  p.suspensions->carry_out();
  EXPECT_TRUE(job.suspended);
  EXPECT_NE(job.reason.find("attempt 1 of job 99 is running on it"), std::string::npos) << job.reason;
  p.runner.alive.clear();
  p.suspensions->resume(job);
  p.suspensions->carry_out();
  EXPECT_FALSE(job.suspended);
  EXPECT_EQ(job.reason, "");
}

}  // namespace
}  // namespace smartmig
