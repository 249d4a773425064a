/** Runs the unit tests, the linter and the type checker of clients/python. */
import { describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { PYTHON, PYTHON_CLIENT, PYTHON_ENVIRONMENT, withPythonClient } from '../kit/python-client.ts'

function python(...args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(PYTHON, args, { cwd: PYTHON_CLIENT, env: PYTHON_ENVIRONMENT })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((resolve) => void child.once('close', (code) => resolve({ code, output })))
}

withPythonClient('clients/python', () => {
  describe('clients/python', () => {
    it('passes its unit tests without a warning', async () => {
      const { code, output } = await python('-W', 'error', '-m', 'unittest', 'discover', '-s', 'test', '-t', '.')
      expect(output).toMatch(/\nRan [1-9]\d* tests in [^]*\nOK\n$/)
      expect(code).toBe(0)
    }, 60_000)

    it.each([
      ['ruff check', ['-m', 'ruff', 'check', '--no-cache', '.']],
      ['ruff format', ['-m', 'ruff', 'format', '--no-cache', '--check', '.']],
      ['mypy --strict', ['-m', 'mypy', '--cache-dir', join(process.cwd(), '.tools/clients/mypy')]],
    ])(
      'passes %s',
      async (_, args) => {
        const { code, output } = await python(...args)
        expect({ code, output }).toEqual({ code: 0, output: expect.any(String) })
      },
      120_000,
    )
  })
})
