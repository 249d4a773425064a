// Copies every "Copy as" command from the clipboard and runs it in a shell. It does the same as the page.
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { it } from './it.ts'
import { CHROMIUM } from './watched.ts'
import { FleetFixture } from './fleet-fixture.ts'
import { BUILT_COMMAND } from '../../kit/built-command.ts'
import { eventually } from '../../kit/index.ts'

const TYPE = '/automations/http-request'
const WORKER = `${TYPE}/workers/w 1`

let fixture: FleetFixture

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM === undefined) return
  await fixture.start()
  const bin = join(fixture.fleet.directory, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'muster'), `#!/bin/sh\nexec '${process.execPath}' '${BUILT_COMMAND}' "$@"\n`)
  chmodSync(join(bin, 'muster'), 0o755)
})
afterEach(() => fixture.stop())

const open = (hash: string): Promise<Page> =>
  fixture.signedIn(hash, ADMIN_TOKEN, { permissions: ['clipboard-read', 'clipboard-write'] })

async function copied(page: Page, within: Locator, label: 'curl' | 'muster'): Promise<string> {
  await within.getByText('Copy as', { exact: true }).click()
  await within.getByRole('button', { name: label, exact: true }).click()
  await within.getByText(`Copied as ${label}`).waitFor()
  return page.evaluate<string>('navigator.clipboard.readText()')
}

/** Runs the line in a shell that has the token only in its environment. */
async function run(line: string): Promise<string> {
  expect(line).not.toContain(ADMIN_TOKEN)
  const PATH = [join(fixture.fleet.directory, 'bin'), process.env['PATH']].join(delimiter)
  return (
    await promisify(execFile)('sh', ['-c', line], {
      env: { PATH, HOME: fixture.fleet.directory, SVC_API_TOKEN: ADMIN_TOKEN },
      timeout: 30_000,
    })
  ).stdout
}

const answered = async (line: string): Promise<unknown> => JSON.parse(await run(line))
const got = (path: string): Promise<unknown> => fixture.fleet.ok('GET', encodeURI(path))
const submit = (...ids: readonly string[]): Promise<unknown> =>
  Promise.all(
    ids.map((id) =>
      fixture.fleet.ok('POST', `${TYPE}/tasks`, { task_id: id, payload: { url: 'http://example.net/' } }),
    ),
  )
const waiting = async (): Promise<readonly string[]> =>
  (await fixture.fleet.ok<{ items: { id: string }[] }>('GET', `${TYPE}/queue?n=100`)).items.map(({ id }) => id)

describe('a line of "Copy as"', () => {
  it('reads the data that the page shows: a worker, a queue, a stream, a pool', async () => {
    const socket = await fixture.speakAs('http-request', 'w 1', [])
    await eventually(
      'the worker is there',
      async () => (await fixture.fleet.call('GET', encodeURI(WORKER))).status === 200,
    )
    await submit('t-1', 't-2')
    const page = await open('#/workers/http-request/w%201')
    const title = page.locator('.worker-title .buttons')
    expect(await answered(await copied(page, title, 'curl'))).toMatchObject({
      worker_id: 'w 1',
      automation_type: 'http-request',
    })
    expect(await run(await copied(page, title, 'muster'))).toContain('w 1')
    await page.goto(`${fixture.fleet.url}/#/tasks/http-request`)
    const queue = page.locator('section.card', { has: page.getByRole('heading', { name: /^Next tasks/ }) })
    expect(await answered(await copied(page, queue, 'curl'))).toEqual(await got(`${TYPE}/queue?n=20`))
    expect(await run(await copied(page, queue, 'muster'))).toMatch(/t-1[\s\S]*t-2/)
    await page.goto(`${fixture.fleet.url}/#/output/http-request?mode=peek`)
    const peek = page.locator('section.card', { has: page.getByRole('heading', { name: /^Oldest entries/ }) })
    expect(await answered(await copied(page, peek, 'curl'))).toEqual([])
    await run(await copied(page, peek, 'muster'))
    const pop = page.locator('section.pop')
    expect(await answered(await copied(page, pop, 'curl'))).toEqual([])
    await run(`${await copied(page, pop, 'muster')} --yes`) // Without it, the command asks for confirmation.
    await page.goto(`${fixture.fleet.url}/#/output/http-request`)
    const tail = page.locator('section.tail')
    expect(await answered(await copied(page, tail, 'curl'))).toEqual(await got(`${TYPE}/output/tail?n=100`))
    // Not run, because it never ends.
    expect(await copied(page, tail, 'muster')).toBe(`muster output tail http-request --master-url ${fixture.fleet.url}`)
    socket.close()
  })

  it('does the same as the button next to it: submit, config, drain, forget', async () => {
    const socket = await fixture.speakAs('http-request', 'w 1', [])
    await eventually(
      'the worker is there',
      async () => (await fixture.fleet.call('GET', encodeURI(WORKER))).status === 200,
    )
    const page = await open('#/tasks/http-request?tab=submit')
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.getByLabel('Payload', { exact: true }).fill('{"url": "http://example.net/it\'s?a=1&b=$HOME"}')
    const card = page.locator('section').filter({ hasText: 'Submit a task' })
    const first = (await answered(await copied(page, card, 'curl'))) as { task_id: string }
    await run(await copied(page, card, 'muster'))
    expect(await waiting()).toEqual([first.task_id]) // Same idempotency key: queued once.
    expect(JSON.stringify(await got(`${TYPE}/queue?n=1`))).toContain("it's?a=1&b=$HOME")

    for (const [label, slots] of [
      ['curl', 3],
      ['muster', 4],
    ] as const) {
      await page.goto(`${fixture.fleet.url}/#/workers/http-request/w%201?tab=config`)
      await page.getByLabel('slots', { exact: true }).fill(String(slots))
      await page.getByRole('button', { name: /^Review/ }).click()
      // Until Save is visible, the last menu is the one of the worker.
      await page.getByRole('button', { name: /^Save/ }).waitFor()
      await run(await copied(page, page.locator('main').locator('.copy-as').last(), label))
      expect(await got(WORKER)).toMatchObject({ config: { slots } })
      await page.reload()
    }

    for (const label of ['curl', 'muster'] as const) {
      await page.goto(`${fixture.fleet.url}/#/workers/http-request/w%201`)
      await page.getByRole('button', { name: 'Forget…' }).click()
      const line = await copied(page, page.getByRole('dialog'), label)
      await run(label === 'muster' ? `${line} --yes` : line)
      expect((await fixture.fleet.call('GET', encodeURI(WORKER))).status).toBe(404)
      socket.close()
      const again = await fixture.speakAs('http-request', 'w 1', [])
      await eventually('it is back', async () => (await fixture.fleet.call('GET', encodeURI(WORKER))).status === 200)
      await page.goto(`${fixture.fleet.url}/#/`)
      await page.goto(`${fixture.fleet.url}/#/workers/http-request/w%201`)
      await page.getByRole('button', { name: 'Drain…' }).click()
      await run(await copied(page, page.getByRole('dialog'), label))
      expect(await got(WORKER)).toMatchObject({ draining: true })
      again.close()
      await page.reload()
    }
  })

  it('replays and removes only the selected dead tasks', async () => {
    await fixture.startWorker('http-request', 'w-1', { allow_ports: [1] })
    await submit('t-1', 't-2', 't-3')
    const deadIds = async (): Promise<readonly string[]> =>
      (await fixture.fleet.ok<{ items: { id: string }[] }>('GET', `${TYPE}/dead?n=10`)).items
        .map(({ id }) => id)
        .toSorted()
    await eventually('they are dead', async () => (await deadIds()).length === 3)
    await fixture.fleet.configure('http-request', 'w-1', { enabled: false })
    const page = await open('#/tasks/http-request?tab=dead')
    for (const [verb, id, label] of [
      ['Replay', 't-1', 'curl'],
      ['Replay', 't-2', 'muster'],
      ['Remove', 't-3', 'curl'],
    ] as const) {
      const before = await deadIds()
      await page.getByLabel(`Select ${id}`, { exact: true }).check()
      await page
        .getByRole('group', { name: 'Selected dead tasks' })
        .getByRole('button', { name: `${verb} 1…` })
        .click()
      await run(await copied(page, page.getByRole('dialog'), label))
      expect(await deadIds()).toEqual(before.filter((each) => each !== id))
      await page.keyboard.press('Escape')
    }
  })
})
