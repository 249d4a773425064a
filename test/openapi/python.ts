/**
 * @module test/openapi/python Runs the Python programs of hack/install-python.sh. Tests that need one are skipped, by
 * name, if it is not installed.
 */
import { it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PYTHON = join(process.cwd(), '.tools/python/bin/python')

/** `it`, or `it.skip` without Python. */
export const withPython = existsSync(PYTHON) ? it : it.skip

/** Runs Python to its end in a temporary folder, because some programs write files into theirs. */
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
  child.stdin.on('error', () => {}) // The program ended without reading everything; its exit code explains why.
  child.stdin.end(stdin)
  return new Promise((resolve) => void child.once('close', (code) => resolve({ code, output })))
}
