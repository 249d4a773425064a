#!/usr/bin/env node
// Fails when test/reliability/RESULTS.md is not what hack/reliability-report.mjs writes, when a line of its sources is
// wrong, or when a commit removed or changed a line.
// Usage: node hack/verify-reliability.mjs [ROOT]    Exit: 0 equal, 1 differs, one fault per line.
import { fileURLToPath } from 'node:url'
import { compare } from './generated.mjs'
import { editedLines, readRecord, report } from './reliability.mjs'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
const record = readRecord()
const faults = [...record.faults, ...editedLines()]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
else compare(report(record), 'hack/reliability-report.mjs')
