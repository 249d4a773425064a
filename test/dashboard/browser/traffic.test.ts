// Bytes on the wire with 10,000 workers, of which 200 change their state every second and all send statistics. A relay
// between page and master counts every byte that the page receives, headers included.
import { afterAll, beforeAll, describe, expect, jest } from '@jest/globals'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { SLACK } from '../../kit/index.ts'
import { printTable, within } from './budget.ts'
import { inPage } from './in-page.ts'
import { it } from './it.ts'
import { ManyWorkers } from './many-workers.ts'
import { CHROMIUM, signedIn } from './watched.ts'

jest.setTimeout(300_000) // Ten pages are opened, and then measured for 30 s.

const COUNT = 10_000
const WINDOW_MS = 30_000
const ALL_ROWS =
  "document.querySelector('table.virtual')?.getAttribute('aria-rowcount') " +
  `=== '${COUNT + 1}' && document.querySelector('.reading') === null`
const KB = 1_000

/** Passes bytes on between pages and a master, and counts those that the pages receive. */
class Relay {
  received = 0
  readonly #port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(target: string) {
    this.#port = Number(new URL(target).port)
    this.#server = createServer((page) => this.#join(page, connect(this.#port, '127.0.0.1')))
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  #join(page: Socket, master: Socket): void {
    master.on('data', ({ length }) => void (this.received += length))
    for (const [from, to] of [
      [page, master],
      [master, page],
    ] as const) {
      this.#sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  }
}

const many = new ManyWorkers()
const relays: Relay[] = []

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await many.start()
  await many.add('mailer', COUNT)
}, 60_000)
afterAll(async () => {
  await Promise.all(relays.map((relay) => relay.close()))
  await many.stop()
  printTable()
})

const allRows = (page: Page): Promise<void> =>
  inPage(
    page,
    `new Promise((found) => { const look = () => (${ALL_ROWS}) ? found() : requestAnimationFrame(look); look() })`,
  )

async function openPlace(hash: string) {
  const relay = new Relay(many.url)
  relays.push(relay)
  const { page } = await signedIn(await relay.listen(), hash)
  await page.locator('h1').first().waitFor()
  await page.locator('button.live').getByText(/live/).waitFor()
  if (hash === LIST) await allRows(page)
  return { page, relay, opened: relay.received }
}

const LIST = '#/workers'
/** Of each place: bytes in 30 s, after it has opened. */
const PLACES: readonly (readonly [name: string, hash: string, kilobytes: number])[] = [
  ['the overview', '#/', 20],
  ['a worker', '#/workers/mailer/m-11', 20],
  ['all tasks', '#/tasks', 20],
  ['the tasks of a type', '#/tasks/mailer', 20],
  ['the output', '#/output', 20],
  ['the pools', '#/pools', 20],
  ['the automations', '#/automations', 20],
  ['the settings', '#/settings', 20],
  ['the list of workers', LIST, 150],
]

describe('10,000 workers', () => {
  it('cost at most 400 kB to open, and then little every 30 s on each place (D161, D162)', async () => {
    await many.whileBusy('mailer', COUNT, async () => {
      await signedIn(`${many.url}/`) // The first page also reads the OpenAPI document, for the tests.
      const places = []
      for (const [name, hash, limit] of PLACES) places.push({ name, limit, ...(await openPlace(hash)) })
      for (const { name, opened } of places) within(`opening ${name}`, opened / KB, 400, 'kB')
      const before = places.map(({ relay }) => relay.received)
      const began = performance.now()
      await places[0]?.page.waitForTimeout(WINDOW_MS)
      const after = places.map(({ relay }) => relay.received)
      const windows = (performance.now() - began) / WINDOW_MS // More than 1 on a busy machine.
      const taken = places.map(({ name, limit }, n) => {
        const kB = ((after[n] ?? 0) - (before[n] ?? 0)) / KB / windows
        return { name, limit, kB }
      })
      console.info(taken.map(({ name, kB }) => `${name} ${kB}`).join(', '))
      for (const { name, kB, limit } of taken) within(`${name}, every 30 s`, kB, limit, 'kB')
    })
  })

  it('are all there within 6 s at 1.6 Mbit/s and 150 ms (D161)', async () => {
    await many.whileBusy('mailer', COUNT, async () => {
      const { page } = await signedIn(`${many.url}/`, '#/settings')
      const cdp = await page.context().newCDPSession(page)
      await cdp.send('Network.clearBrowserCache')
      await cdp.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 150,
        downloadThroughput: 200_000,
        uploadThroughput: 200_000,
      })
      await page.goto('about:blank')
      await page.goto(`${many.url}/#/workers`, { waitUntil: 'commit' })
      await allRows(page)
      within('all rows at 1.6 Mbit/s and 150 ms', await inPage(page, 'performance.now()'), 6_000 * SLACK, 'ms')
    })
  })

  it('show in the list, within some seconds, a worker that changes', async () => {
    const { page } = await signedIn(`${many.url}/`, `#/workers?q=${encodeURIComponent('"seen by the list"')}`)
    await page.getByText(/^No workers match this filter/).waitFor()
    await many.change('mailer', [21], 'ERROR', 'seen by the list')
    await page.getByRole('link', { name: 'm-21', exact: true }).waitFor({ timeout: 15_000 })
    await many.change('mailer', [21], 'RUNNING')
    await page.getByText(/^No workers match this filter/).waitFor({ timeout: 15_000 })
    expect(await page.locator('tbody tr[data-key]').count()).toBe(0)
  })
})
