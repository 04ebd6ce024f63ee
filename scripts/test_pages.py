#!/usr/bin/env python3
"""Opens pages of `kbest explain` in a browser: no errors, what is shown is what the library said, nothing freezes.

The page carries its data as JSON; `kbest explain --json` must say the same, and so must `kbest decode` and `kbest tag`. Then
everything that the page shows is read back from its elements. Run by scripts/test_pages.sh.
"""

import argparse
import json
import os
import subprocess
import signal
import sys
import tempfile
import time

from browser import Browser, Page

LARGEST = 5_000_000  # bytes of a page with 500 positions and 2,000 labels
SLOWEST_LOAD = 3.0  # seconds, on a slow machine; about 0.3 on a desktop
SLOWEST_STEP = 0.1  # seconds to choose a position and draw again

HOSTILE = ["</script><script>document.title='owned'</script>", "<img src=x onerror=alert(1)>", "a&amp;b", "\"quoted' ", "tab\u202eltr",
           "\u001b[31mred", "日本語", "`${1+1}`", "\\u003c", "\u2028line"]


class Test:
    def __init__(self, arguments):
        self.kbest, self.out = os.path.abspath(arguments.kbest), arguments.out
        self.checks = 0
        os.makedirs(self.out, exist_ok=True)

    def run(self, *command, stdin=None):
        done = subprocess.run([self.kbest, *map(str, command)], input=stdin, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"kbest {' '.join(map(str, command))}: {done.stderr.decode()}")
        return done.stdout.decode()

    def equal(self, got, expected, what):
        self.checks += 1
        if got != expected:
            raise AssertionError(f"{what}: expected {str(expected)[:400]}, got {str(got)[:400]}")

    def true(self, holds, what):
        self.equal(bool(holds), True, what)

    # ---- one page -----------------------------------------------------------------------------------------------------

    def explain(self, name, *options):
        """Writes page and JSON; returns the path of the page and the data."""
        path = os.path.join(self.out, name + ".html")
        self.run("explain", *options, "--html", path)
        return path, json.loads(self.run("explain", *options, "--json"))

    def check_page(self, page, path, data):
        name = os.path.basename(path)
        seconds = page.open(path)
        self.true(seconds < SLOWEST_LOAD, f"{name}: loaded in {seconds:.2f} s")
        self.equal(page.run("JSON.parse(document.getElementById('data').textContent)"), data, f"{name}: data")
        fact = lambda key: page.run(f"document.getElementById('fact-{key}')?.dataset.value")
        self.equal([fact("positions"), fact("labels"), fact("decoder")],
                   [str(data["positions"]), str(data["labels"]), data["search"]["decoder"]], f"{name}: facts")
        if data["positions"] == 0:
            self.true("empty" in page.run("document.getElementById('sentence').textContent"), f"{name}: says it is empty")
            self.no_problems(page, name)
            return
        if data["search"]["traced"]:
            self.equal(fact("opened"), str(sum(c["opened"] for c in data["columns"])), f"{name}: opened")
        chips = page.run("[...document.querySelectorAll('.token')].map(c => [+c.dataset.label, c.querySelector('em').textContent])")
        labels = data["paths"][0]["labels"]
        self.equal([chip[0] for chip in chips], labels, f"{name}: labels of the answer")
        plain = [data["names"][str(y)] for y in labels]
        self.equal([chip[1] for chip, own in zip(chips, plain) if own.isprintable()],
                   [own for own in plain if own.isprintable()], f"{name}: names of the answer")
        self.check_paths(page, data, name)
        positions = data["positions"]
        for t in sorted({0, positions // 3, positions // 2, positions - 1}):
            self.check_position(page, data, t, name)
            self.check_trellis(page, data, name)
        self.check_table(page, data, name)
        self.no_problems(page, name)

    def no_problems(self, page, name):
        self.equal(page.problems(), [], f"{name}: console")

    def check_paths(self, page, data, name):
        rows = page.run("[...document.querySelectorAll('#paths tbody tr')].map(r => [+r.dataset.score, +r.dataset.probability, r.dataset.differs])")
        expected = [[p["score"], p["probability"], " ".join(map(str, p["differs"]))] for p in data["paths"]]
        self.equal(rows, expected, f"{name}: paths")

    def check_position(self, page, data, t, name):
        page.run(f"choose({t}, true); draw(); 1")
        column = data["columns"][t]
        likely = page.run("[...document.querySelectorAll('#likely tbody tr')].map(r => [+r.dataset.label, +r.dataset.probability])")
        by_probability = sorted((v[4] for v in column["vertices"]), reverse=True)[:12]
        self.equal([row[1] for row in likely], by_probability, f"{name}: likely labels of {t}")
        known = {v[0]: v[4] for v in column["vertices"]}
        self.true(all(known[y] == p for y, p in likely), f"{name}: probabilities of {t}")
        why = column["why"]
        rows = page.run("[...document.querySelectorAll('#why tr[data-kind]')].map(r => [r.dataset.kind, +r.dataset.position, +r.dataset.winner, +r.dataset.rival])")
        if why is None:
            self.equal(rows, [], f"{name}: no reasons at {t}")
            return
        self.equal(rows, [[k, at, w, r] for k, at, _, w, r in why["terms"]], f"{name}: terms of {t}")
        self.equal(float(page.run("document.querySelector('#why .total').dataset.lead")), why["lead"], f"{name}: lead at {t}")
        scale = 1 + abs(data["paths"][0]["score"]) + sum(abs(w) + abs(r) for _, _, _, w, r in why["terms"])
        together = sum(w - r for _, _, _, w, r in why["terms"]) + why["others_lead"]
        self.true(abs(together - why["lead"]) < 2e-6 * scale * max(1, data["positions"]), f"{name}: terms of {t} add up: {together} and {why['lead']}")

    def check_trellis(self, page, data, name):
        """The vertices in sight are those of the data, with their fates."""
        drawn = page.run("[...document.querySelectorAll('#trellis g.vertex')].map(g => [+(g.dataset.t ?? g.dataset.start), +g.dataset.label, +(g.dataset.fate ?? 0)])")
        self.true(drawn, f"{name}: something is drawn")
        if data["segments"]:
            return
        for t in {t for t, _, _ in drawn}:
            shown = [(y, fate) for place, y, fate in drawn if place == t]
            on_paths = {path["labels"][t] for path in data["paths"]}
            own = [(v[0], v[1]) for v in data["columns"][t]["vertices"] if v[1] > 0 or v[0] in on_paths]
            first = own.index(shown[0])  # rows out of sight are not drawn
            self.equal(shown, own[first:first + len(shown)], f"{name}: vertices of {t}")

    def check_table(self, page, data, name):
        page.run("document.getElementById('everything').open = true; table(); 1")
        rows = page.run("[...document.querySelectorAll('#table tbody tr')].map(r => [+r.dataset.label, +r.dataset.opened])")
        expected = [[y, column["opened"]] for y, column in zip(data["paths"][0]["labels"], data["columns"])]
        self.equal(rows, expected, f"{name}: table")
        page.run("document.getElementById('everything').open = false; 1")

    def check_keys(self, page, data, name):
        page.run("choose(0, true); 1")
        page.key("ArrowRight")
        self.equal(page.run("state.t"), min(1, data["positions"] - 1), f"{name}: right arrow")
        page.run("document.getElementById('trellis').focus(); 1")
        page.key("End")
        self.equal(page.run("state.t"), data["positions"] - 1, f"{name}: end")
        page.key("ArrowDown")
        self.equal(page.run("state.path"), min(1, len(data["paths"]) - 1), f"{name}: down")
        page.key("t")
        self.equal(page.run("document.documentElement.dataset.theme"), "light", f"{name}: theme")
        page.run("setTheme(0); choosePath(0); choose(0, true); window.scrollTo(0, 0); 1")
        place = page.run("(() => { const r = document.querySelectorAll('.token')[1].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        page.click(*place)
        self.equal(page.run("state.t"), 1, f"{name}: click on a token")
        if data["search"]["traced"]:
            page.run("goTo(1); draw(); 1")
            later = page.run("[...document.querySelectorAll('#trellis g.vertex:not(.later)')].map(g => +g.dataset.step)")
            self.true(all(step <= 1 for step in later), f"{name}: replay shows what was opened by then: {later}")
            page.run(f"goTo({data['search']['steps']}); toggle(); new Promise(r => setTimeout(() => {{ stop(); goTo({data['search']['steps']}); r(1); }}, 120))")

    # ---- the pages ----------------------------------------------------------------------------------------------------

    def all(self, browser, folder):
        self.text(browser, folder)
        self.scores(browser, folder)
        self.large(browser, folder)
        self.segments(browser, folder)
        self.small(browser, folder)

    def text(self, browser, folder):
        train, test, model = (os.path.join(folder, name) for name in ["train.tsv", "test.tsv", "model.kbest"])
        self.run("generate", "corpus", "--labels", 120, "--sentences", 400, "-o", train, "--test", test)
        self.run("train", train, "-m", model, "--threads", 2)
        path, data = self.explain("text", "-m", model, test, "--sequence", 2)
        tagged = self.run("tag", "-m", model, "-k", 5, test).split("\n\n")
        blocks = [block for block in tagged if block.strip()][5:10]
        names = [[line.split("\t")[-1] for line in block.splitlines() if line and not line.startswith("# ")] for block in blocks]
        ours = [[data["names"][str(y)] for y in path["labels"]] for path in data["paths"]]
        self.equal(ours, names, "text: paths of `kbest tag`")
        page = Page(browser)
        self.check_page(page, path, data)
        self.check_keys(page, data, "text")
        unsure = min(range(data["positions"]), key=lambda t: data["columns"][t]["vertices"][0][4])
        page.run(f"choose({unsure}, true); window.scrollTo(0, 0); draw(); 1")
        page.screenshot(os.path.join(self.out, "text-light.png"))
        page.dark(True)
        page.screenshot(os.path.join(self.out, "text-dark.png"))
        page.dark(False)
        page.resize(390, 844, phone=True)
        page.run("draw(); 1")
        self.true(page.run("document.documentElement.scrollWidth <= innerWidth"), "text: fits on a phone")
        page.screenshot(os.path.join(self.out, "text-phone.png"))
        self.true(page.pdf(os.path.join(self.out, "text-print.pdf")) > 10_000, "text: prints")
        self.no_problems(page, "text")
        page.close()
        hostile = os.path.join(folder, "hostile.tsv")
        with open(hostile, "w", encoding="utf-8") as file:
            file.write("".join(f"{token}\n" for token in HOSTILE if "\t" not in token) + "\n")
        path, data = self.explain("hostile", "-m", model, hostile, "--tabs")
        page = Page(browser)
        self.check_page(page, path, data)
        self.true(page.run("document.title").startswith("kbest explain"), "hostile: text stays text")
        self.equal(page.run("document.querySelectorAll('img, script').length"), 2, "hostile: no elements from text")
        self.equal(data["tokens"], HOSTILE, "hostile: tokens")
        page.close()

    def scores(self, browser, folder):
        file = os.path.join(folder, "lattice.npz")
        self.run("generate", "lattice", "--labels", 300, "--positions", 30, "--sequences", 2, "-o", file)
        for decoder, k in [("carpediem", 1), ("carpediem", 5), ("staggered", 1), ("astar", 3), ("iterative-astar", 1),
                           ("iterative-viterbi-astar", 4), ("beam:4", 2), ("viterbi", 2), ("funnel", 5), ("auto", 5)]:
            path, data = self.explain(decoder.replace(":", "-") + f"-{k}", file, "--decoder", decoder, "-k", k, "--sequence", 2)
            searched = data["search"]["k"]
            line = json.loads(self.run("decode", file, "--decoder", decoder, "-k", searched, "--counters").splitlines()[1])
            self.equal(data["search"]["counters"]["nodes"], line["counters"]["nodes"], f"{decoder}: nodes")
            if searched == k:
                ours = [[path["labels"], path["score"]] for path in data["paths"]]
                theirs = [[path["labels"], path["score"]] for path in line["paths"]]
                self.equal([one[0] for one in ours], [one[0] for one in theirs], f"{decoder}: paths")
                self.true(all(abs(a[1] - b[1]) < 1e-4 for a, b in zip(ours, theirs)), f"{decoder}: scores")
            if decoder == "carpediem":
                self.equal([column["opened"] for column in data["columns"]], line["counters"]["nodes_at"], "carpediem: opened")
            page = Page(browser)
            self.check_page(page, path, data)
            if decoder in ("carpediem", "staggered", "beam:4"):
                page.run("choose(12, true); window.scrollTo(0, 0); draw(); 1")
                page.screenshot(os.path.join(self.out, f"{decoder.replace(':', '-')}.png"))
            page.close()

    def large(self, browser, folder):
        file = os.path.join(folder, "large.npz")
        self.run("generate", "lattice", "--labels", 2000, "--positions", 500, "--sequences", 1, "-o", file)
        for decoder in ["auto", "carpediem"]:
            path = os.path.join(self.out, f"large-{decoder}.html")
            begun = time.monotonic()
            self.run("explain", file, "--decoder", decoder, "--token" if decoder == "carpediem" else "-k", 5, "--html", path)
            made = time.monotonic() - begun
            data = json.loads(open(path, encoding="utf-8").read().split('"application/json">')[1].split("</script>")[0])
            size = os.path.getsize(path)
            self.true(size < LARGEST, f"large: {size} bytes")
            page = Page(browser)
            self.check_page(page, path, data)
            # The fastest of ten rounds: other programs may use the machine.
            step = page.run("""(() => {
                let fastest = Infinity;
                for (let round = 0; round < 10; round++) {
                    const begun = performance.now();
                    for (let i = 0; i < 10; i++) { choose(50 * round + 5 * i, true); draw(); document.body.offsetHeight; }
                    fastest = Math.min(fastest, (performance.now() - begun) / 10);
                }
                return fastest;
            })()""")
            self.true(step / 1000 < SLOWEST_STEP, f"large: {step:.1f} ms a step")
            elements = page.run("document.querySelectorAll('#trellis *').length")
            self.true(elements < 20_000, f"large: {elements} elements in sight")
            page.run("document.getElementById('trellis').scrollTop = 300; choose(250, true); draw(); 1")
            self.check_trellis(page, data, "large")
            page.run("document.getElementById('trellis').scrollTop = 0; draw(); 1")
            page.screenshot(os.path.join(self.out, f"large-{decoder}.png"))
            print(f"pages: 500 positions, 2,000 labels, {decoder}: {size / 1e6:.2f} MB, made in {made:.1f} s, {step:.1f} ms a step")
            page.close()

    def segments(self, browser, folder):
        train, test, model = (os.path.join(folder, name) for name in ["a-train.tsv", "a-test.tsv", "a.kbest"])
        self.run("generate", "addresses", "--records", 300, "-o", train, "--test", test)
        self.run("train", train, "-m", model, "--algorithm", "semi")
        path, data = self.explain("segments", "-m", model, test, "--sequence", 3)
        self.true(data["segments"] and not data["search"]["traced"], "segments: no trace")
        page = Page(browser)
        self.check_page(page, path, data)
        drawn = page.run("[...document.querySelectorAll('#trellis g.vertex')].filter(g => g.dataset.rank === '0').map(g => [+g.dataset.start, +g.dataset.end, +g.dataset.label])")
        own = data["paths"][0]["segments"]
        self.true(drawn and drawn[0] in own, "segments: the best segmentation is drawn")
        first = own.index(drawn[0])  # what is out of sight is not drawn
        self.equal(drawn, own[first:first + len(drawn)], "segments: drawn")
        page.screenshot(os.path.join(self.out, "segments.png"))
        page.close()

    def small(self, browser, folder):
        for positions, labels in [(0, 3), (1, 1), (1, 5), (2, 1)]:
            file = os.path.join(folder, "small.npz")
            self.run("generate", "lattice", "--labels", labels, "--positions", max(positions, 1), "--sequences", 1, "-o", file)
            if positions == 0:
                file = self.empty_lattice(folder, labels)
            path, data = self.explain(f"small-{positions}-{labels}", file, "--decoder", "carpediem", "-k", 3)
            page = Page(browser)
            self.check_page(page, path, data)
            page.close()

    @staticmethod
    def empty_lattice(folder, labels):
        """An .npz file with no positions."""
        import io
        import zipfile

        def npy(shape, count):
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
            header += b" " * (117 - len(header)) + b"\n"
            return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 4 * count

        path = os.path.join(folder, "empty.npz")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("node.npy", npy(f"(0, {labels})", 0))
            archive.writestr("edge.npy", npy(f"({labels}, {labels})", labels * labels))
        return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", required=True)
    parser.add_argument("--kbest", required=True)
    parser.add_argument("--out", required=True)
    test = Test(parser.parse_args())
    begun = time.monotonic()
    for ending in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(ending, lambda number, _: sys.exit(128 + number))  # so that the browser and its files go, too
    browser = Browser(parser.parse_args().browser)
    try:
        with tempfile.TemporaryDirectory() as folder:
            test.all(browser, folder)
    except AssertionError as error:
        print(f"pages: {error}", file=sys.stderr)
        return 1
    finally:
        browser.close()
    print(f"pages: {test.checks} checks passed in {time.monotonic() - begun:.0f} s; screenshots in {test.out}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
