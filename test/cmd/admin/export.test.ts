/** `muster automations export`, which needs no master. */
import { describe, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAutomations } from '../../../src/automation/index.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'
import { lines, muster } from './fixture.ts'

const NO_MASTER = { SVC_MASTER_URL: '', SVC_API_TOKEN: '' }
const run = (words: string, environment: Readonly<Record<string, string>> = {}) =>
  muster('', words, { environment: { ...NO_MASTER, ...environment } })

describe('muster automations export', () => {
  it('prints a manifest that declares the same type, as YAML and as JSON, without a master (D112)', async () => {
    const directory = temporaryFolder()
    for (const format of ['yaml', 'json']) {
      const { code, out, err } = await run(
        `automations export http-request --automations muster/automations -o ${format}`,
      )
      expect({ code, err }).toEqual({ code: 0, err: '' })
      writeFileSync(join(directory, `a.automation.${format}`), out)
      const [read] = await loadAutomations({ specifiers: [`./a.automation.${format}`], directory })
      expect(read).toMatchObject({ type: 'http-request', kind: 'BatchAutomation', run: null })
    }
  })

  it('takes the modules of SVC_AUTOMATIONS, and YAML, without options', async () => {
    const { code, out } = await run('automations export http-probe', { SVC_AUTOMATIONS: 'muster/automations' })
    expect([code, lines(out).slice(0, 3)]).toEqual([
      0,
      ['muster: automation/v1', 'type: http-probe', 'kind: continuous'],
    ])
  })

  it('exits with 2 for a type that is not installed, a module that does not exist, and a missing type', async () => {
    const unknown = await run('automations export mailer --automations muster/automations')
    expect(unknown).toMatchObject({ code: 2, out: '' })
    expect(unknown.err).toContain('TYPE  "mailer" is not installed; installed: http-probe, http-request\n')
    const missing = await run('automations export mailer --automations ./no-such-module.js')
    expect(missing).toMatchObject({ code: 2, out: '' })
    expect(missing.err).toContain('SVC_AUTOMATIONS  module ./no-such-module.js: there is no')
    expect(await run('automations export')).toMatchObject({ code: 2, out: '' })
  })
})
