// smartmig export --onnx: a trained controller as an ONNX model.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/embedded.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "learn/onnx_cases.h"
#include "learn/onnx_writer.h"

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
  if (gpu.empty()) return invalid("{} has several controllers: choose one of {} with --gpu", name, known);
  return invalid("{} has no controller for {}: there are {}", name, gpu, known);
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
  Command cmd("export", "",
              "Writes a trained controller as an ONNX model (opset 13): raw observation and mask in, row-stochastic "
              "matrix over layouts and value out.",
              "smartmig export --onnx best.policy -o model.onnx --check");
  cmd.option("--onnx", policy, "POLICY",
             "policy file of smartmig train, a checkpoint, or the name of a shipped policy");
  cmd.option("--output-file", output, "FILE", "the model").alias("-o");
  cmd.option("--gpu", gpu, "MODEL", "which controller, where the policy has several");
  cmd.flag("--check", check, "also write FILE.parity.json, to test a runtime with: inputs and expected outputs");
  cmd.option("--cases", cases, "N", "observations of that file; half from a simulated day, half random");
  cmd.option("--seed", seed, "S", "of the day and the random observations");
  cmd.flag("--force", force, "replace existing files");
  cmd.flag("--json", json, "print one JSON object");
  // "--onnx --help" asks for help and names no policy.
  const bool help =
      std::any_of(arguments.begin(), arguments.end(), [](const std::string& a) { return a == "--help" || a == "-h"; });
  const auto parsed = cmd.parse(help ? Arguments{"--help"} : arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (cases < 2 || cases > 10'000 || seed < 0) return usage_error(invalid("--cases 2 to 10000, --seed at least 0"));
  const std::string parity_file = check ? parity_path(output) : "";
  std::error_code ignored;
  for (const std::string& path : {output, parity_file})
    if (!path.empty() && !force && std::filesystem::exists(path, ignored))
      return usage_error(invalid("{} exists already: choose another file or add --force", path));
  const auto file = read_policy(policy);
  if (!file) return usage_error(file.error());
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
