// Layouts as NVIDIA's header gives them on 64-bit Linux, and the exported names of the shared library.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <regex>

#include "base/file.h"
#include "nvml_abi.h"
#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

TEST(Abi, StructsHaveTheirDocumentedSizesAndVersions) {
  EXPECT_EQ(sizeof(nvmlPciInfo_t), 68u);
  EXPECT_EQ(offsetof(nvmlPciInfo_t, busId), 36u);
  EXPECT_EQ(sizeof(nvmlMemory_t), 24u);
  EXPECT_EQ(sizeof(nvmlMemory_v2_t), 40u);
  EXPECT_EQ(nvmlMemory_v2, 0x2000028u);
  EXPECT_EQ(sizeof(nvmlProcessInfo_v1_t), 16u);
  EXPECT_EQ(sizeof(nvmlProcessInfo_t), 24u);
  EXPECT_EQ(sizeof(nvmlFieldValue_t), 40u);
  EXPECT_EQ(offsetof(nvmlFieldValue_t, value), 32u);
  EXPECT_EQ(sizeof(nvmlEventData_t), 32u);
  EXPECT_EQ(sizeof(nvmlDeviceAttributes_t), 40u);
  EXPECT_EQ(sizeof(nvmlGpuInstanceProfileInfo_t), 48u);
  EXPECT_EQ(sizeof(nvmlGpuInstanceProfileInfo_v2_t), 152u);
  EXPECT_EQ(offsetof(nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB), 48u);
  EXPECT_EQ(sizeof(nvmlGpuInstanceProfileInfo_v3_t), 152u);
  EXPECT_EQ(offsetof(nvmlGpuInstanceProfileInfo_v3_t, memorySizeMB), 40u);
  EXPECT_EQ(nvmlGpuInstanceProfileInfo_v2, 0x2000098u);
  EXPECT_EQ(nvmlGpuInstanceProfileInfo_v3, 0x3000098u);
  EXPECT_EQ(sizeof(nvmlGpuInstanceInfo_t), 24u);
  EXPECT_EQ(sizeof(nvmlComputeInstanceProfileInfo_t), 36u);
  EXPECT_EQ(sizeof(nvmlComputeInstanceProfileInfo_v2_t), 136u);
  EXPECT_EQ(sizeof(nvmlComputeInstanceProfileInfo_v3_t), 140u);
  EXPECT_EQ(sizeof(nvmlComputeInstanceInfo_t), 32u);
  EXPECT_EQ(sizeof(nvmlProcessUtilizationSample_t), 32u);
  EXPECT_EQ(nvmlPciInfoExt_v1, 0x1000040u);
  EXPECT_EQ(nvmlUUID_v1, 0x1000034u);
  EXPECT_EQ(nvmlDeviceAddressingMode_v1, 0x1000008u);
  EXPECT_EQ(nvmlSystemDriverBranchInfo_v1, 0x1000054u);
  EXPECT_EQ(sizeof(nvmlSample_t), 16u);
  EXPECT_EQ(sizeof(nvmlGpmMetric_t), 40u);
  EXPECT_EQ(offsetof(nvmlGpmMetricsGet_t, metrics), 24u);
}

TEST(Abi, TheLibraryExportsEveryDeclaredNameAndNothingElse) {
  const std::string library = program("libnvidia-ml.so.1");
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << ::dlerror();
  int names = 0;
  for (const char* header : {"/nvml-sim/nvml_functions.h", "/nvml-sim/sim_api.h"}) {
    const auto text = read_file(std::string(SMARTMIG_SOURCE_DIR) + header);
    ASSERT_TRUE(text);
    static const std::regex declared(R"((?:_FN\(|char\* |void )(nvml\w+)\)?\s*\()");
    for (std::sregex_iterator at(text->begin(), text->end(), declared), end; at != end; ++at, ++names)
      EXPECT_NE(::dlsym(handle, (*at)[1].str().c_str()), nullptr) << (*at)[1];
  }
  EXPECT_GT(names, 130);
  ::dlclose(handle);
  const Output symbols = run_program("nm -D --defined-only " + library + " | awk '{print $NF}' | grep -cv '^nvml'");
  EXPECT_EQ(symbols.text, "0\n");
  EXPECT_NE(run_program("readelf -d " + library).text.find("[libnvidia-ml.so.1]"), std::string::npos);
}

}  // namespace
}  // namespace smartmig::nvsim
