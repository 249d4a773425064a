/** @module test/openapi/python  The Python programs of hack/install-python.sh; tests that need one are skipped, by name, where they are not installed. */
import { it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PYTHON = join(process.cwd(), '.tools/python/bin/python')

/** `it`, or its skip. */
export const withPython = existsSync(PYTHON) ? it : it.skip

/** Runs Python to its end, in a folder that is nobody's: some programs leave notes where they stand. */
export function python(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  stdin = '',
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(PYTHON, args, {
    cwd: tmpdir(),
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      PYTHONDONTWRITEBYTECODE: '1',
      ...environment,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stdin.on('error', () => {}) // It ended without reading all: its exit code says why.
  child.stdin.end(stdin)
  return new Promise((resolve) => void child.once('close', (code) => resolve({ code, output })))
}
