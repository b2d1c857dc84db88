// smartmig export --onnx: a trained controller as an ONNX model.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/embedded.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "research/learn/onnx_cases.h"
#include "research/learn/onnx_writer.h"
#include "research/verbs/research_verbs.h"

namespace smartmig::cli {
namespace {

Result<PolicyFile> read_policy(const std::string& name) {
  const std::string shipped = "policies/" + name + ".policy";
  for (const EmbeddedFile& file : embedded_files())
    if (shipped == file.name) return parse_policy_file(shipped, file.text());
  return load_policy_file(name);
}

Result<const Controller*> choose(const std::string& name, const PolicyFile& file, const std::string& gpu) {
  std::string known;
  for (const Controller& c : file.controllers) {
    if (c.gpu == gpu || (gpu.empty() && file.controllers.size() == 1)) return &c;
    known += (known.empty() ? "" : ", ") + c.gpu;
  }
  if (gpu.empty()) return invalid("{} has several controllers; choose one of {} with --gpu", name, known);
  return invalid("{} has no controller for {}; it has {}", name, gpu, known);
}

std::string parity_path(const std::string& model) {
  std::filesystem::path path(model);
  return path.replace_extension(".parity.json").string();
}

}  // namespace

int run_export_onnx(const Arguments& arguments) {
  std::string policy, output = "model.onnx", gpu;
  std::int64_t cases = 32, seed = 1;
  bool check = false, force = false, json = false;
  Command cmd(
      "export", "",
      "Writes a trained controller as an ONNX model (opset 13). Its inputs are the raw observation and the mask; its outputs are a row-stochastic matrix over layouts and the value.",
      "smartmig export --onnx best.policy -o model.onnx --check");
  cmd.option("--onnx", policy, "POLICY",
             "policy file of smartmig train, a checkpoint, or the name of a shipped policy");
  cmd.option("--output", output, "FILE", "the model").alias("-o").also("--output-file");
  cmd.option("--gpu", gpu, "MODEL", "GPU model of the controller, if the policy has several");
  cmd.flag("--check", check, "also write FILE.parity.json with inputs and expected outputs, to test a runtime");
  cmd.option("--cases", cases, "N",
             "number of observations in that file; half of them come from a simulated day and half are random");
  cmd.option("--seed", seed, "S", "seed of the day and of the random observations");
  cmd.flag("--force", force, "replace existing files");
  cmd.flag("--json", json, "print one JSON object");
  if (const auto end = cmd.ends(arguments)) return *end;
  if (cases < 2 || cases > 10'000 || seed < 0)
    return usage_error(invalid("--cases must be 2 to 10000, and --seed at least 0"));
  const std::string parity_file = check ? parity_path(output) : "";
  std::error_code ignored;
  for (const std::string& path : {output, parity_file})
    if (!path.empty() && !force && std::filesystem::exists(path, ignored))
      return usage_error(invalid("{} exists; choose another file or add --force", path));
  const auto file = read_policy(policy);
  if (!file) return failure(file.error());
  const auto controller = choose(policy, *file, gpu);
  if (!controller) return usage_error(controller.error());

  std::string expected;
  std::size_t recorded = 0;
  if (check) {
    const auto made = parity_cases(*file, **controller, int(cases / 2), int(cases - cases / 2), std::uint64_t(seed));
    if (!made) return failure(made.error());
    for (const ParityCase& one : *made) recorded += one.recorded;
    expected = parity_json(std::filesystem::path(output).filename().string(), **controller, *made);
  }
  const std::string bytes = to_onnx(**controller);
  if (const auto ok = write_file(output, bytes); !ok) return failure(ok.error());
  if (check)
    if (const auto ok = write_file(parity_file, expected); !ok) return failure(ok.error());
  const NetworkSize& size = (*controller)->network.size();
  if (json) {
    const nlohmann::ordered_json out = {
        {"model", output},           {"parity_file", check ? nlohmann::ordered_json(parity_file) : nullptr},
        {"gpu", (*controller)->gpu}, {"bytes", bytes.size()},
        {"inputs", size.inputs},     {"foresight", size.foresight},
        {"layouts", size.layouts},   {"cases", check ? cases : 0},
        {"recorded", recorded}};
    fmt::print("{}\n", json_dump(out, 1));
    return 0;
  }
  fmt::print("{}: controller of {}, {} inputs{}, {} layouts, {} bytes\n", output, (*controller)->gpu, size.inputs,
             size.foresight > 0 ? fmt::format(" and {} of foresight for the value", size.foresight) : "", size.layouts,
             bytes.size());
  if (check)
    fmt::print("{}: {} observations ({} of a simulated day) with the expected outputs; allowed difference {:g}\n",
               parity_file, cases, recorded, kParityTolerance);
  return 0;
}

}  // namespace smartmig::cli
