#!/usr/bin/env python3
"""Replay wire-level cases against an HTTP proxy and report which hold.

A case is one JSON object a line (see README.md). Each case gets a fresh proxy process, scripted origins on loopback
and raw client sockets, so what is judged is bytes on the wire and nothing else.

  run.py --supported --proxy 'authproxy run -c {config}' *.jsonl
  run.py --proxy 'haproxy -db -f {config}' --config-file haproxy.cfg --only-generic *.jsonl
"""
import argparse, concurrent.futures, json, sys, tempfile, time
from pathlib import Path

import selection
from judge import check
from stage import PATIENCE, Certificates, Skip, Stage, Unmet, await_condition


def run_case(case, variant, options):
    """(failures, skipped because, transcript)"""
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        stage = None
        try:
            stage = Stage(case, variant, options, Path(folder))
            stage.start()
            if "exit" in case["expect"]:
                status = stage.proxy.exit_status()
                failures = [] if status == case["expect"]["exit"] else ["exit status %s" % status]
                return failures + check(stage, {**stage.fill(case["expect"]), "complete": "any"}), None, ""
            stage.proxy.start()
            unmet, started = [], time.monotonic()
            try:
                for step in case["client"]:
                    stage.play(step)
                stage.settle(stage.fill(case["expect"]))
            except Unmet as error:
                unmet = [str(error)]
            took, expect = time.monotonic() - started, stage.fill(case["expect"])
            failures = unmet + check(stage, expect)
            if took > expect.get("seconds", 60):
                failures.append("took %.1f s" % took)
            process = stage.proxy.process
            if "ended" in expect and not await_condition(lambda: process.poll() == expect["ended"], PATIENCE):
                failures.append("proxy ended with %s, wanted %s" % (process.poll(), expect["ended"]))
            elif "ended" not in expect and process.poll() is not None:
                failures.append("proxy died with %s" % process.returncode)
            transcript = "  client : %r\n  origin : %r" % (b"".join(bytes(one.received) for one in stage.connections)[:900],
                                                           stage.origins[0].bytes[:900])
            return failures, None, transcript
        except Skip as reason:
            return [], str(reason), ""
        except Exception as error:  # a case must not end the run, whatever the proxy does
            return ["%s: %s" % (type(error).__name__, str(error).strip().replace("\n", " | "))], None, ""
        finally:
            if stage:
                stage.stop()


def run_variants(case, options):
    lacks = selection.unmet(case) if options.supported else None
    if lacks:
        return case, [(case["id"], [], "needs " + lacks, "")]
    outcomes = []
    for variant in case.get("vary", [{}]):
        label = case["id"] + ("[%s]" % str(next(iter(variant.values()))).encode("unicode_escape").decode()[:30] if variant else "")
        outcomes.append((label,) + run_case(case, variant, options))
    return case, outcomes


def load(options):
    for path in options.cases:
        for line in Path(path).read_text().splitlines():
            if not line.strip():
                continue
            case = json.loads(line)
            if "client" not in case or options.only_generic and not case.get("generic"):
                continue
            if any(part in (case["id"], case["kind"]) or part in case["id"] for part in options.only.split(",")):
                yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", help="files of cases, one JSON object a line")
    parser.add_argument("--proxy", required=True, help="command that starts the proxy; {config}, {port}, {dir} are filled in")
    parser.add_argument("--config-file", help="use this configuration for every case (for other proxies)")
    parser.add_argument("--only-generic", action="store_true", help="only what any header-adding reverse proxy can be held to")
    parser.add_argument("--supported", action="store_true", help="skip what needs features that this version does not have")
    parser.add_argument("--only", default="", help="only cases of these kinds, or with this in the id; several with commas")
    parser.add_argument("--report", help="also write the outcome of each case to this file, one JSON object a line")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="cases run at the same time")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the bytes of each case that fails")
    options = parser.parse_args()
    options.config_text = Path(options.config_file).read_text() if options.config_file else None
    options.certificates = Certificates()

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    report = open(options.report, "w") if options.report else None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, outcomes in pool.map(lambda one: run_variants(one, options), list(load(options))):
            failed = [one for one in outcomes if one[1]]
            skipped = all(one[2] for one in outcomes)
            counts["failed" if failed else "skipped" if skipped else "passed"] += 1
            for label, failures, _, transcript in failed:
                print("FAIL %-34s %s" % (label, "; ".join(failures)))
                if options.verbose:
                    print("  intent : %s\n%s" % (case.get("intent", ""), transcript))
            if skipped:
                print("SKIP %-34s %s" % (case["id"], outcomes[0][2]))
            if report:
                report.write(json.dumps({"id": case["id"], "kind": case["kind"], "skipped": skipped,
                                         "failures": {one[0]: one[1] for one in failed}}) + "\n")
            sys.stdout.flush()
    options.certificates.remove()
    if report:
        report.close()
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
