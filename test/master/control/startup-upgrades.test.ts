/** The rules for upgrades that arrive while a master starts, on virtual time, with sockets in memory. */
import { duplexPair, type Duplex } from 'node:stream'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { MAX_EARLY_BYTES } from '../../../src/master/control/limits.ts'
import { StartupUpgrades } from '../../../src/master/control/startup-upgrades.ts'
import { HANDSHAKE_WAIT_MS, MAX_WAITING_HANDSHAKES } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

const TOKEN = 'worker-token'
const NOTHING = Buffer.alloc(0)

let time: VirtualTime
let upgrades: StartupUpgrades
let refused: [id: string, status: number, detail: string | undefined][]

beforeEach(() => {
  time = new VirtualTime(0, 1)
  refused = []
  upgrades = new StartupUpgrades({ clock: time, timers: time, isWorkerToken: (token) => token === TOKEN })
})

const pathOf = (id: string): string => `/api/v1/automations/mailer/workers/${id}/control`

/** Adds an upgrade. @returns the end of its client. */
function add(id: string, { path = pathOf(id), token = TOKEN, head = NOTHING } = {}): Duplex {
  const [socket, client] = duplexPair()
  const headers = { authorization: `Bearer ${token}` }
  const request = { url: path, headers, rawHeaders: ['Authorization', headers.authorization] }
  upgrades.add(request as unknown as Parameters<StartupUpgrades['add']>[0], socket, head, (status, detail) => {
    refused.push([id, status, detail])
  })
  return client
}

const taken = () => upgrades.take().map(({ handshake, arrivedAtMs }) => [handshake.id, arrivedAtMs])
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

describe('upgrades while a master starts', () => {
  it('are returned in the order of their arrival, with its time', async () => {
    add('a')
    await time.advance(1_000)
    add('b')
    expect(taken()).toEqual([
      ['a', 0],
      ['b', 1_000],
    ])
    expect(upgrades.take()).toEqual([])
    await time.advance(HANDSHAKE_WAIT_MS)
    expect(refused).toEqual([])
  })

  it('keep the token of the query', () => {
    add('a', { path: `${pathOf('a')}?token=${TOKEN}` })
    expect(upgrades.take().map(({ handshake, request }) => [handshake.bearerToken, request.url])).toEqual([
      [TOKEN, pathOf('a')],
    ])
  })

  it('are refused with 503 after 10 s', async () => {
    add('a')
    await time.advance(1)
    add('b')
    await time.advance(HANDSHAKE_WAIT_MS - 1)
    expect(refused).toEqual([['a', 503, undefined]])
    expect(taken()).toEqual([['b', 1]])
  })

  it('are refused immediately without a worker token, and on other paths', () => {
    add('a', { token: 'guess' })
    add('b', { path: '/elsewhere' })
    expect(refused.map(([id, status]) => [id, status])).toEqual([
      ['a', 503],
      ['b', 503],
    ])
    expect(upgrades.length).toBe(0)
  })

  it('are refused beyond 20,000 (G17)', () => {
    for (let at = 0; at < MAX_WAITING_HANDSHAKES; at += 1) add(`w${at}`)
    expect(refused).toEqual([])
    add('next')
    expect(refused).toEqual([['next', 503, undefined]])
    expect(upgrades.length).toBe(MAX_WAITING_HANDSHAKES)
  })

  it('are forgotten when their client disconnects', async () => {
    const client = add('a')
    client.end()
    await turn()
    expect(upgrades.length).toBe(0)
    await time.advance(HANDSHAKE_WAIT_MS)
    expect(refused).toEqual([])
  })

  it('keep what their client sends, and are refused with 400 above 4 KiB (S15)', async () => {
    const [patient, flooding] = [add('a', { head: Buffer.from('one ') }), add('b')]
    patient.write('two')
    flooding.write(Buffer.alloc(MAX_EARLY_BYTES + 1))
    await turn()
    expect(refused).toEqual([['b', 400, 'send nothing before the response to the upgrade']])
    expect(upgrades.take().map(({ head }) => head.toString())).toEqual(['one two'])
  })

  it('are refused when the master does not start', async () => {
    add('a')
    upgrades.close()
    expect(refused).toEqual([['a', 503, undefined]])
    expect(await time.advanceToNext()).toBe(false)
  })
})
