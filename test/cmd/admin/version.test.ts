/** `muster version` and the other names of verbs. */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { NOUNS } from '../../../src/cmd/admin/index.ts'
import { freePort } from '../../kit/index.ts'
import { register } from '../../client/fixture.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'
import { cells, lines, muster } from './fixture.ts'

const { version: VERSION } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
const NOT_CONFIGURED = { SVC_MASTER_URL: '', SVC_API_TOKEN: '' }

describe('muster version', () => {
  it('prints the versions of the client and of the master', async () => {
    const { url } = await runMaster()
    expect(cells((await muster(url, 'version')).out)).toEqual([
      ['COMPONENT', 'VERSION', 'URL'],
      ['client', VERSION, '-'],
      ['master', '1.2.3', `${url}/`],
    ])
    expect(JSON.parse((await muster(url, 'version -o json')).out)).toEqual({
      client: { version: VERSION, node: process.versions.node },
      master: { version: '1.2.3', url: `${url}/`, versions: ['1.2.3'] },
    })
  })

  it('prints that of the client alone with --client, and if no master is configured', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const alone = { code: 0, out: `COMPONENT  VERSION  URL\nclient     ${VERSION}    -\n`, err: '' }
    expect(await muster(url, 'version --client')).toMatchObject(alone)
    expect(await muster('', 'version', { environment: NOT_CONFIGURED })).toMatchObject(alone)
  })

  it('prints that of the client, then fails, if the master does not respond or rejects the token', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`
    const unreachable = await muster(nowhere, 'version -o json')
    expect([unreachable.code, JSON.parse(unreachable.out)]).toMatchObject([1, { master: null }])
    expect(lines(unreachable.err).at(-1)).toContain(`check that a master is running at ${nowhere}`)
    const { url } = await runMaster()
    const wrong = await muster(url, 'version', { environment: { SVC_API_TOKEN: 'not-the-token' } })
    expect(wrong).toMatchObject({ code: 4, out: expect.stringContaining(`client     ${VERSION}`) })
    const missing = await muster(url, 'version', { environment: { SVC_API_TOKEN: '' } })
    expect([missing.code, missing.out]).toEqual([2, expect.stringContaining(`client     ${VERSION}`)])
    expect(missing.err).toContain('SVC_API_TOKEN')
  })

  it('asks the master of the flag or of the context', async () => {
    const { url } = await runMaster()
    const environment = { SVC_MASTER_URL: '', SVC_API_TOKEN: TOKENS.admin }
    const ran = await muster('', `version --master-url ${url}`, { environment })
    expect(cells(ran.out)[2]).toEqual(['master', '1.2.3', `${url}/`])
    expect((await muster('', 'version --context prod', { environment: NOT_CONFIGURED })).err).toContain('prod')
  })
})

describe('other names of verbs', () => {
  it('list is ls, and delete and rm remove', async () => {
    const master = await runMaster()
    for (const id of ['w1', 'w2']) await register(master, id)
    const { out } = await muster(master.url, 'workers ls')
    expect(await muster(master.url, 'workers list')).toMatchObject({ code: 0, out })
    for (const [name, id] of [
      ['delete', 'w1'],
      ['rm', 'w2'],
    ] as const)
      expect(await muster(master.url, `workers ${name} mailer/${id} --yes`)).toMatchObject({ code: 0 })
    expect(cells((await muster(master.url, 'workers ls')).out)).toHaveLength(1)
    expect(await muster(master.url, 'dead delete mailer --yes')).toMatchObject({ code: 0 })
    expect((await muster('', 'workers forget --help')).out).toContain('Also: delete, rm\n')
  })

  it('every ls has the name list, and no two verbs of a noun share a name', () => {
    for (const [noun, { verbs }] of Object.entries(NOUNS)) {
      const names = verbs.flatMap(({ name, aliases = [], formerName = [] }) => [name, ...aliases].concat(formerName))
      expect([noun, names.length]).toEqual([noun, new Set(names).size])
      for (const { name, aliases = [] } of verbs) if (name === 'ls') expect([noun, ...aliases]).toContain('list')
    }
  })
})
