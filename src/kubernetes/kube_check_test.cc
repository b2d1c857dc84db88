#include "kubernetes/kube_check.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/paths.h"

namespace smartmig {
namespace {

TEST(KubeManifest, IsTheFileOfDeploy) {
  EXPECT_EQ(manifest_of({}), *read_file(source_dir() + "/deploy/kubernetes/smartmig.yaml"))
      << "smartmig kubernetes config > deploy/kubernetes/smartmig.yaml";
}

}  // namespace
}  // namespace smartmig
