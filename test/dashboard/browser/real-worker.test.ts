// The worker page with a real worker process: config saved, applied and kept while it is offline; drain and forget.
import { get } from 'node:http'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN, type Proc } from '../../e2e/fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, look, storedValues } from './watched.ts'
import { FleetFixture } from './fleet-fixture.ts'

const CANARY = 'Basic canary-of-the-browser-test'

let fixture: FleetFixture
let worker: Proc

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM === undefined) return
  await fixture.start()
  worker = fixture.fleet.startWorker('http-request', 'w-1')
  await fixture.fleet.configure('http-request', 'w-1', {
    enabled: true,
    allow_cidrs: ['127.0.0.0/8'],
    allow_ports: [Number(new URL(fixture.fleet.url).port)],
  })
})
afterEach(() => fixture.stop())

const review = (page: Page): Promise<void> => page.getByRole('button', { name: /^Review/ }).click()
const save = (page: Page): Promise<void> => page.getByRole('button', { name: /^Save \d/ }).click()

/** Records every API response to the page from now on, and every event. */
function responsesTo(page: Page): { readonly responses: string[]; readonly end: () => void } {
  const responses: string[] = []
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.startsWith('/api/') && !new URL(response.url()).pathname.endsWith('/events'))
      void response.text().then(
        (text) => responses.push(text),
        () => undefined,
      )
  })
  const events = get(
    `${fixture.fleet.url}/api/v1/events`,
    { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } },
    (stream) => stream.on('data', (chunk: Buffer) => responses.push(chunk.toString())),
  )
  return { responses, end: () => events.destroy() }
}

describe('a worker in its own process', () => {
  it('applies saved configs, also after it was offline, drains, and is forgotten', async () => {
    const page = await fixture.signedIn('#/workers/http-request/w-1?tab=config')
    await page.getByLabel('slots', { exact: true }).fill('2')
    await review(page)
    await save(page)
    await page.getByText(/Generation 2 is saved\. The worker applied it after \d/).waitFor()

    worker.child.kill('SIGKILL')
    await worker.exited
    await page.getByText('offline').first().waitFor()
    await page.getByRole('link', { name: /^Form/ }).click()
    await page.getByLabel('slots', { exact: true }).fill('3')
    await review(page)
    await save(page)
    await page
      .getByText('Generation 3 is saved. The worker is offline and applies the config when it reconnects.')
      .waitFor()
    await page.locator('.save-result').getByText('Why?').click()
    await page
      .locator('.save-result')
      .getByRole('list')
      .getByText(/^Lost .* without a close frame/)
      .first()
      .waitFor()
    await look(page, 'config-worker-offline')
    worker = fixture.fleet.startWorker('http-request', 'w-1')
    await page.getByText(/Generation 3 is saved\. The worker applied it/).waitFor()

    await page.getByRole('button', { name: 'Drain…' }).click()
    await page.getByRole('button', { name: 'Drain 1 worker' }).click()
    expect(await worker.exited).toBe(0)
    await page.goto(`${fixture.fleet.url}/#/workers/http-request/w-1`)
    await page.getByText(/^Drained: it finished its work and exited .* requested by admin/).waitFor()
    await page.getByText('offline').first().waitFor()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByText('If the worker comes back').waitFor()
    await page.getByRole('button', { name: 'Forget 1 worker' }).click()
    await page.getByText('No worker has registered yet').waitFor()
    expect((await fixture.fleet.call('GET', '/automations/http-request/workers/w-1')).status).toBe(404)
  })

  it('receives a secret that is never shown, stored or logged', async () => {
    const page = await fixture.signedIn('#/workers/http-request/w-1?tab=config')
    const logged: string[] = []
    page.on('console', (message) => logged.push(message.text()))
    await page.getByLabel('slots', { exact: true }).waitFor()
    const { responses, end } = responsesTo(page)
    await page.getByRole('radiogroup', { name: 'authorization' }).getByLabel('Set', { exact: true }).check()
    await page.getByPlaceholder('new value').fill(CANARY)
    await review(page)
    await save(page)
    await page.getByText(/is saved\. The worker applied it/).waitFor()
    await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
      payload: { url: `${fixture.fleet.url}/healthz` },
    })
    const seen: string[] = []
    for (const hash of [
      '#/workers/http-request/w-1',
      '#/workers/http-request/w-1?tab=config',
      '#/workers/http-request/w-1?tab=config&view=json',
      '#/workers/http-request/w-1?tab=history',
      '#/output/http-request',
      '#/workers',
      '#/',
    ]) {
      await page.goto(`${fixture.fleet.url}/${hash}`)
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
      if (hash.startsWith('#/output')) await page.getByText('"status":200').first().waitFor()
      if (hash.endsWith('history')) await page.locator('.generations').getByText('authorization').first().waitFor()
      seen.push(await page.content(), JSON.stringify(await storedValues(page)))
    }
    for (const path of [
      '/automations/http-request/workers/w-1',
      '/automations/http-request/workers/w-1/config/history',
      '/automations/http-request/output/peek?n=10',
      '/overview',
    ])
      seen.push(JSON.stringify(await fixture.fleet.ok('GET', path)))
    end()
    expect(responses.join('')).toContain('worker.config_changed')
    expect(
      [...seen, ...responses, ...logged, worker.output(), fixture.fleet.masterOutput()].filter((text) =>
        text.includes('canary-of-the-browser-test'),
      ),
    ).toEqual([])
  })
})
