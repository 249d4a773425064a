#!/usr/bin/env node
// Writes test/reliability/RESULTS.md from runs.jsonl and failures.jsonl beside it, and adds lines to these files.
// Usage: node hack/reliability-report.mjs [ROOT]                      writes the page
//        node hack/reliability-report.mjs --add '{…}' [ROOT]          adds a run, then writes the page
//        node hack/reliability-report.mjs --add-failure '{…}' [ROOT]  adds a failure, then writes the page
// Exit: 0 written, 1 a line is wrong: file, line, field and what it must be.
//
// A line of runs.jsonl is one run of a layer. --add fills in the fields marked *:
//   date*        "2026-11-25T13:40Z"
//   commit*      "8861e7e", or "8861e7e+changes" if files outside of test/reliability had changed
//   machine*     "2 cores, 24 GiB, linux x64, Node 24.4.1"
//   layer        L1 … L7, disk, controls, mutants, versions or soak
//   command      "SOAK=1 npm test -- test/durability": what repeats the run
//   count        1000
//   counted      "crash points of SQLite, 4 variants each": what was counted. Equal texts are runs of the same check
//   seedBase*    where random choices begin; null without them
//   mustHappen*  {"drain while its master is paused": 12}: situations and how often each occurred
//   found*       number of violations
//   skipped*     ["no Go: linearizability"]: what the machine lacks
//   figures      optional: {"ms a point": 40, "lost with fsync dropped": "97 %"}
// Tests call `recordRun` of test/kit/record-run.ts, which adds a line when RECORD=1.
//
// A line of failures.jsonl is one defect of the product that a layer found:
//   date*, layer
//   at           "seed 0x5f3a", "operation 1234, variant C": where it was found
//   cause        one sentence
//   fix          the subject of the commit that fixed it. A hash changes when the branch is rebased
//   test         "test/regressions/repeated-ack.test.ts"
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { write } from './generated.mjs'
import { addLine, FAILURES, readRecord, report, RUNS } from './reliability.mjs'

const { values, positionals } = parseArgs({
  options: { add: { type: 'string' }, 'add-failure': { type: 'string' } },
  allowPositionals: true,
})
process.chdir(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)))

const added = [
  ...(values.add === undefined ? [] : addLine(RUNS, values.add)),
  ...(values['add-failure'] === undefined ? [] : addLine(FAILURES, values['add-failure'])),
]
const record = readRecord()
const faults = [
  ...added.map((fault) => `${values.add === undefined ? '--add-failure' : '--add'}: ${fault}; nothing was added`),
  ...record.faults,
]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
else write(report(record))
