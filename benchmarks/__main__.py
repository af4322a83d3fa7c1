"""Run a study or a benchmark by name.

    python -m benchmarks NAME [--repetitions N] [--quick]

A study draws data whose truth is known, N data sets per setting, and writes docs/studies/NAME.md; --quick runs a few
and writes nothing. Everything else, such as a benchmark, has options of its own: python -m benchmarks NAME --help.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
STUDIES = {  # each module has main(repetitions), which returns the page
    "intervals": "intervals_study",
    "other-annotators": "others_study",
    "kappas": "kappas_study",
    "clusters": "clusters_study",
    "assumption": "assumption_study",
    "compare": "compare_study",
    "models": "models_study",
    "naming": "naming_study",
    "pairs": "pairs_study",
    "marks": "marks_study",
    "steps": "steps_study",
    "watching": "watching_study",
}
BENCHMARKS = {
    "billion": "billion",
    "breakdowns": "breakdowns",
    "core": "core",
    "default-weights": "default_weights",
    "marks-beside-others": "mark_peers",
    "monitor": "monitor",
    "mutation": "mutation",
    "paper": "studies",
    "peers": "peers",
    "pictures": "pictures",
    "planning": "planning",
    "scale": "scale",
    "screenshots": "screenshots",
}
QUICK = 5


def main() -> None:
    sys.path.insert(0, str(HERE))
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=[*STUDIES, *BENCHMARKS])
    if len(sys.argv) > 1 and sys.argv[1] in BENCHMARKS:
        name = sys.argv.pop(1)
        sys.argv[0] = f"python -m benchmarks {name}"
        import_module(BENCHMARKS[name]).main()
        return
    parser.add_argument("--repetitions", type=int, help="data sets per setting; every study has a default of its own")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} repetitions, and no page is written")
    options = parser.parse_args()
    study = import_module(STUDIES[options.name])
    repetitions = QUICK if options.quick else options.repetitions
    page = study.main() if repetitions is None else study.main(repetitions)
    print(page)
    if page and not options.quick:
        (HERE.parent / "docs" / "studies" / f"{options.name}.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
