#!/usr/bin/env python3
"""Put the report of `kbest-bench papers` into docs/papers/, and README's table of speeds beside it.

usage: publish_papers.py OUT     copy report, pictures and results.json from OUT, then write README's table
       publish_papers.py         write README's table from docs/papers/results.json
       publish_papers.py --check fail if README's table is not the one that results.json gives; while there is no
                                 report yet, if a cell of it is not in the record in benchmarks/README.md

The table stands in README.md between the lines `<!-- speeds -->` and `<!-- end of speeds -->`.
"""

import itertools
import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAPERS = ROOT / "docs" / "papers"
BEGIN, END = "<!-- speeds -->\n", "<!-- end of speeds -->\n"
TASKS = ["ewt-pos", "conll2000-joint", "spanish-joint", "hpsg-lextype", "czech-morph", "hungarian-morph"]
OF_THE_PAPERS = ["carpediem", "staggered", "staggered-column", "astar", "astar:m0", "astar:m3", "astar:m6", "astar:m9",
                 "iterative-astar"]


def table(results: dict) -> str:
    """README's table of speeds."""
    lines = ["| task | labels | auto, ns | auto vs scan | auto vs viterbi-simd | auto vs viterbi | auto vs best of the papers |",
             "|---|---|---|---|---|---|---|"]
    for task in TASKS:
        step = results["steps"].get(f"decode-{task}-k1")
        if step is None or step["kind"] != "decoding":
            continue
        time = {row["decoder"]: row["ns_per_position"] for row in step["rows"]}
        auto = time["auto"]
        best = min((name for name in OF_THE_PAPERS if name in time), key=time.__getitem__)
        lines.append(
            f"| {task} | {step['labels']:,} | {auto:,.0f} | {auto / step['scan_ns_per_position']:.1f} "
            f"| {time['viterbi-simd'] / auto:.1f} | {time['viterbi'] / auto:,.0f} | {time[best] / auto:.1f} ({best}) |")
    when = f"Measured on {results['date']}: [the papers' experiments, repeated](docs/papers/README.md)."
    return "\n".join(lines) + "\n\n" + when + "\n"


def in_record(shown: str) -> None:
    """Every row of README's table stands in the record of measurements."""
    cells = lambda line: [cell.strip() for cell in line.strip("|\n").split("|")]
    record = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split(": the best path\n")[1]
    lines = list(itertools.takewhile(lambda line: line.startswith("|"), record[record.index("\n|") + 1:].splitlines()))
    header = cells(lines[0])
    known = {cells(line)[0]: dict(zip(header, cells(line))) for line in lines}
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    names = cells(rows[0])
    if len(rows) < 8:
        sys.exit("README.md: expected speeds of at least six tasks")
    for row in rows[2:]:
        for name, cell in zip(names, cells(row)):
            if known[cells(row)[0]][name] != cell:
                sys.exit(f"README.md: {cells(row)[0]}, {name}: expected {known[cells(row)[0]][name]}, got {cell}")


def main() -> None:
    arguments = sys.argv[1:]
    if len(arguments) > 1 or arguments in (["-h"], ["--help"]):
        sys.exit(__doc__)
    check = arguments == ["--check"]
    if arguments and not check:
        publish(Path(arguments[0]))
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    shown, after = rest.split(END)
    if check and not (PAPERS / "results.json").exists():
        in_record(shown)
        return
    expected = table(json.loads((PAPERS / "results.json").read_text(encoding="utf-8")))
    if check:
        if shown != expected:
            sys.exit(f"README.md: expected the speeds of docs/papers/results.json:\n{expected}got:\n{shown}"
                     "Run scripts/publish_papers.py.")
        return
    readme.write_text(before + BEGIN + expected + END + after, encoding="utf-8")


def publish(out: Path) -> None:
    """Replaces docs/papers/ by the report in OUT."""
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    if results["quick"]:
        sys.exit(f"{out}: expected the report of a full run, got one of --quick")
    PAPERS.mkdir(parents=True, exist_ok=True)
    for old in PAPERS.glob("*.svg"):
        old.unlink()
    shutil.copyfile(out / "report.md", PAPERS / "README.md")
    shutil.copyfile(out / "results.json", PAPERS / "results.json")
    for picture in sorted(out.glob("*.svg")):
        shutil.copyfile(picture, PAPERS / picture.name)


main()
