/** Tests hack/chart/pack, which creates the archive of a release. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { appendFileSync, cpSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { hackPath, started, type Ran } from '../hack/tree.ts'
import { CHART, run } from './chart.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

describe('hack/chart/pack', () => {
  let folder = ''
  beforeEach(() => {
    folder = temporaryFolder()
    cpSync(CHART, join(folder, 'muster'), { recursive: true })
  })
  const pack = (to: string): Ran =>
    started(process.execPath, [hackPath('chart/pack.mjs'), join(folder, 'muster'), join(folder, to)])
  const archive = (to: string): string =>
    join(folder, to, `muster-${(JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version}.tgz`)

  it('creates the same bytes at any time, and Helm renders them like the folder', () => {
    expect(pack('a').status).toBe(0)
    utimesSync(join(folder, 'muster/values.yaml'), 1, 1)
    expect(pack('b').status).toBe(0)
    expect(readFileSync(archive('b'))).toEqual(readFileSync(archive('a')))
    const rendered = (chart: string): string => run('helm', ['template', 'muster', chart]).stdout
    expect(rendered(archive('a'))).toBe(rendered(CHART))
  })

  it('never changes a release: rejects another chart of its version, accepts the same one', () => {
    pack('a')
    const before = readFileSync(archive('a'))
    expect(pack('a')).toMatchObject({ status: 0, stderr: '' })
    appendFileSync(join(folder, 'muster/values.yaml'), '\n')
    expect(pack('a')).toMatchObject({ status: 1, stderr: expect.stringContaining('raise the version in package.json') })
    expect(readFileSync(archive('a'))).toEqual(before)
  })
})
