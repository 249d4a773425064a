/** Runs the scanner against a master with a deliberate defect: each must be found, and none without one. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import type { CanaryHit } from './canary.ts'
import { temporaryFolder } from './temporary-folder.ts'

const SCENARIO = join(import.meta.dirname, 'canary-scenario.ts')
const APPLY = join(import.meta.dirname, '../controls/apply.ts')

interface Edit {
  readonly file: string
  readonly find: string
  readonly replace: string
}

interface Scan {
  readonly hits: readonly CanaryHit[]
  readonly scannedChars: number
  readonly spans: number
}

const CONTROLS: readonly { readonly defect: string; readonly edit: Edit; readonly where: RegExp }[] = [
  {
    defect: 'the record of a worker leaves a secret field unmasked',
    edit: {
      file: 'src/master/registry/record.ts',
      find: 'maskSecrets(knownFields(entry, config), entry.secrets)',
      replace: 'knownFields(entry, config)',
    },
    where: /^GET .*\/config\/history$/,
  },
  {
    defect: 'the response to a PATCH leaves a secret field unmasked',
    edit: {
      file: 'src/master/registry/patch.ts',
      find: 'shown: maskSecrets(config, entry.secrets)',
      replace: 'shown: config',
    },
    where: /^PATCH .*\/config$/,
  },
  {
    defect: 'an error message contains the token',
    edit: {
      file: 'src/master/http/app.ts',
      find: `throw new FleetError('FORBIDDEN', 'unknown token')`,
      replace: "throw new FleetError('FORBIDDEN', `unknown token ${request.headers.authorization}`)",
    },
    where: /^GET \/api\/v1\/me/,
  },
  {
    defect: 'a span contains the environment of its process',
    edit: {
      file: 'src/runtime/trace.ts',
      find: 'startSpan(name, { attributes })',
      replace: 'startSpan(name, { attributes: { ...attributes, environment: JSON.stringify(process.env) } })',
    },
    where: /^an exported span$/,
  },
]

async function hitsOf(edit?: Edit): Promise<readonly CanaryHit[]> {
  const control = join(temporaryFolder(), 'control.json')
  if (edit !== undefined) writeFileSync(control, JSON.stringify(edit))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...(edit === undefined ? [] : ['--import', APPLY]), SCENARIO],
    { env: { ...process.env, CONTROL: control } },
  )
  const { hits, scannedChars, spans } = JSON.parse(stdout) as Scan
  expect(scannedChars).toBeGreaterThan(1_000)
  expect(spans).toBeGreaterThan(0)
  return hits
}

describe('the scanner for secrets', () => {
  it('finds nothing in the outputs of a master', async () => {
    expect(await hitsOf()).toEqual([])
  })

  it.each(CONTROLS.map((each) => [each.defect, each] as const))(
    'finds that %s',
    async (_, { edit, where }) => {
      const hits = await hitsOf(edit)
      expect(hits.map((hit) => hit.where)).toContainEqual(expect.stringMatching(where))
    },
    60_000,
  )
})
