/** Runs the worker and the producer of the page of the Python client against `muster dev`. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stepsOf } from '../docs/page.ts'
import { eventually } from '../kit/index.ts'
import { PYTHON, PYTHON_CLIENT, PYTHON_ENVIRONMENT, withPythonClient } from '../kit/python-client.ts'
import { Fleet, freePort } from './fleet.ts'

const PAGE = readFileSync(join(PYTHON_CLIENT, 'README.md'), 'utf8')

withPythonClient('muster dev with programs in Python', () => {
  describe('muster dev with programs in Python', () => {
    let fleet: Fleet
    beforeEach(() => {
      fleet = new Fleet()
    })
    afterEach(() => fleet.stop())

    it('runs the task of a producer that has only the standard library (D110, D111)', async () => {
      const port = await freePort()
      for (const step of stepsOf(PAGE))
        if (step.kind === 'file') writeFileSync(join(fleet.directory, step.name), step.content)
      const manifest = join(fleet.directory, 'greeter.automation.yaml')
      const program = join(fleet.directory, 'greeter.py')
      writeFileSync(
        manifest,
        readFileSync(manifest, 'utf8').replace('[python3, greeter.py]', JSON.stringify([PYTHON, program])),
      )
      const dev = fleet.spawn('dev', {
        SVC_LISTEN: `127.0.0.1:${port}`,
        SVC_STATE_DIR: join(fleet.directory, '.muster'),
        SVC_AUTOMATIONS: manifest,
        ...PYTHON_ENVIRONMENT,
      })
      await eventually('the worker is ready', async () => dev.output().includes('worker   ready'), {
        context: dev.output,
      })
      const { stdout } = await promisify(execFile)(PYTHON, ['-I', 'submit.py', `http://127.0.0.1:${port}`], {
        cwd: fleet.directory,
        timeout: 30_000,
      })
      expect(stdout).toBe('done Hello, Ada\n')
      dev.child.kill('SIGINT')
      expect(await dev.exited).toBe(0)
    }, 60_000)
  })
})
