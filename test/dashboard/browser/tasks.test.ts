// The tasks page in a real browser, against a real master and worker.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { WorkerBody } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/eventually.ts'
import { it } from './it.ts'
import { CHROMIUM } from './watched.ts'
import { FleetFixture } from './fleet-fixture.ts'

let fixture: FleetFixture

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM !== undefined) await fixture.start()
})
afterEach(() => fixture.stop())

async function typePayload(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'JSON', exact: true }).click()
  await page.getByLabel('Payload', { exact: true }).fill(text)
}

describe('the tasks page', () => {
  it('submits a task, shows its output in the stream and pops it', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.signedIn('#/tasks/http-request?tab=submit')
    await typePayload(page, JSON.stringify({ url: `${fixture.fleet.url}/healthz` }))
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText(/^Queued as [0-9a-f]{32}\.$/).waitFor()
    await page.getByText('not found. The task may have finished').waitFor() // Done.
    await page.getByRole('link', { name: 'output of http-request' }).click()
    await page.getByRole('table', { name: 'Newest entries' }).getByText('"status":200').waitFor()
    await page.getByRole('button', { name: 'Pop 10…' }).click()
    await page.getByRole('button', { name: 'Pop 10', exact: true }).click()
    await page.getByText('1 entry popped.').waitFor()
    await page.getByRole('table', { name: 'Popped entries' }).getByText('"status":200').waitFor()
    await page.getByRole('link', { name: 'Peek' }).click()
    await page.getByText('The stream is empty').waitFor()
  })

  it('pauses and resumes a worker, and changes its slots by one per click', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const record = async () => fixture.fleet.ok<WorkerBody>('GET', '/automations/http-request/workers/w-1')
    const before = await record()
    const page = await fixture.signedIn('#/workers/http-request/w-1')
    const more = page.getByRole('button', { name: 'One slot more for w-1' })
    await more.click()
    await more.click()
    const slots = Number(before.config['slots'])
    const hasSlots = async (n: number) => (await record()).config['slots'] === n
    await eventually('two slots more', () => hasSlots(slots + 2))
    expect((await record()).config_gen).toBe(before.config_gen + 1)
    await page.goto(`${fixture.fleet.url}/#/workers`)
    await page.locator('tr[data-key]').hover()
    await page.getByRole('button', { name: 'One slot less for w-1' }).click()
    await eventually('one slot less', () => hasSlots(slots + 1))

    await page.goto(`${fixture.fleet.url}/#/workers/http-request/w-1`)
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByRole('button', { name: 'Pause 1 worker' }).click()
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    expect((await record()).config['enabled']).toBe(false)
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.getByRole('button', { name: 'Pause…' }).waitFor()
    expect((await record()).config['enabled']).toBe(true)
  })

  it('pauses a queue with a note and an end, shows the pause, and resumes the queue', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.signedIn('#/tasks/http-request')
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByLabel('Note, shown to everybody').fill('migration')
    await page.getByLabel('End').selectOption('For 1 hour')
    await page.getByRole('button', { name: 'Pause the queue' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByText(/^Paused by admin.*: migration\. No task is leased until /).waitFor()
    const task = { payload: { url: `${fixture.fleet.url}/healthz` }, retain_seconds: 60, task_id: 't-1' }
    await fixture.fleet.ok('POST', '/automations/http-request/tasks', task)
    await page.getByText('Why?').click()
    await page.getByText(/^Paused by admin.* \(migration\): no task is leased until \d{4}-/).waitFor()
    await page.goto(`${fixture.fleet.url}/#/`)
    await page.getByText('paused by admin').first().waitFor()
    await page.goto(`${fixture.fleet.url}/#/settings`)
    const bar = page.getByRole('region', { name: 'Paused queues' })
    await bar.getByText(/^Paused by admin.*: migration\. No task is leased until /).waitFor()
    await page.goto(`${fixture.fleet.url}/#/tasks/http-request/t-1`)
    await page.getByText('Waiting in the queue.').waitFor()
    await fixture.fleet.ok('DELETE', '/automations/http-request/queue/pause')
    await page.getByText('Completed.').waitFor()
    await page.getByRole('list', { name: 'Timeline' }).getByRole('link', { name: 'w-1' }).waitFor()
    await page.goto(`${fixture.fleet.url}/#/tasks/http-request`)
    await page.getByRole('button', { name: 'Pause…' }).waitFor()
    await fixture.fleet.ok('PUT', '/automations/http-request/queue/pause', {})
    await page.goto(`${fixture.fleet.url}/#/automations/http-request`)
    await page.getByRole('button', { name: 'Change pause…' }).click()
    await page.getByLabel('End').selectOption('Until a time…')
    const inAMonth = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 16)
    await page.getByRole('button', { name: 'Pause the queue' }).and(page.locator(':disabled')).waitFor()
    await page.getByLabel('Paused until').fill(inAMonth)
    await page.getByRole('button', { name: 'Pause the queue' }).click()
    await bar.getByText(new RegExp(` until .*, ${inAMonth.slice(11)}:00\\.$`)).waitFor()
    await bar.getByRole('button', { name: 'Resume' }).click()
    await bar.waitFor({ state: 'detached' })
  })

  it('cancels a task after a confirmation', async () => {
    await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
      payload: { url: `${fixture.fleet.url}/healthz` },
      task_id: 't-1',
    })
    const page = await fixture.signedIn('#/tasks/http-request/t-1')
    await page.getByRole('button', { name: 'Cancel task…' }).click()
    await page.getByRole('button', { name: 'Keep the task' }).click()
    await page.getByText('Waiting in the queue.').waitFor()
    await page.getByRole('button', { name: 'Cancel task…' }).click()
    await page.getByRole('button', { name: 'Cancel 1 task' }).click()
    await page.getByText('Cancelled.').waitFor()
    expect(await fixture.fleet.ok('GET', '/automations/http-request/queue')).toMatchObject({ length: 0 })
  })

  it('shows the labels, the delay and the payload of a task', async () => {
    const payload = { url: 'http://example.net/' }
    const more = { labels: { tenant: 'acme' }, delay_seconds: 3_600, task_id: 't-1' }
    await fixture.fleet.ok('POST', '/automations/http-request/tasks', { payload, ...more })
    const page = await fixture.signedIn('#/tasks/http-request/t-1')
    const timeline = page.getByRole('list', { name: 'Timeline' })
    for (const text of ['Submitted', 'Delayed until this time', 'Queued again at this time'])
      await timeline.getByText(text).waitFor()
    await page.getByText('acme').waitFor()
    await page.getByText('"http://example.net/"').waitFor()
  })

  it('shows the failed runs of a task and submits a copy of it once', async () => {
    await fixture.startWorker('http-request', 'w-1', { allow_ports: [1] })
    const payload = { url: `${fixture.fleet.url}/healthz` }
    await fixture.fleet.ok('POST', '/automations/http-request/tasks', { payload, task_id: 't-1', labels: { a: 'b' } })
    const page = await fixture.signedIn('#/tasks/http-request/t-1')
    await page.getByText('Failed for good, and moved to the dead letters.').waitFor()
    const timeline = page.getByRole('list', { name: 'Timeline' })
    await timeline.getByText('is not in allow_ports').first().waitFor()
    await fixture.fleet.ok('PUT', '/automations/http-request/queue/pause', {})
    await page.getByRole('button', { name: 'Submit again…' }).click()
    await page.route(
      '**/tasks',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByRole('button', { name: 'Submit 1 task' }).click()
    await page.getByText('the request may have been applied').waitFor()
    await page.getByRole('button', { name: 'Submit 1 task' }).click()
    await page.getByText('Waiting in the queue.').waitFor()
    expect(await fixture.fleet.ok('GET', '/automations/http-request/queue')).toMatchObject({
      length: 1,
      items: [{ payload, labels: { a: 'b' } }],
    })
  })

  it('shows the errors of a task before and after it is sent', async () => {
    const page = await fixture.signedIn('#/tasks/http-request?tab=submit')
    await typePayload(page, '{')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('Invalid JSON at line 1').waitFor()
    await page.getByLabel('Payload', { exact: true }).fill('{"url": 1}')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('must be string').waitFor()
    await page.getByText('1 field to fix').waitFor()
  })

  it('queues a task once if it is submitted again after a lost response', async () => {
    const page = await fixture.signedIn('#/tasks/http-request?tab=submit')
    await typePayload(page, '{"url": "http://example.net/"}')
    await page.route(
      '**/tasks',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('May have been queued:').waitFor()
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('Not queued: duplicate of task').waitFor()
    await page.getByRole('link', { name: /^Queue/ }).click()
    await page.getByText('1 of 1').waitFor()
  })

  it('replays dead letters, and removes them only after a confirmation', async () => {
    await fixture.startWorker('http-request', 'w-1', { allow_ports: [1] })
    for (const n of [1, 2, 3])
      await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
        task_id: `t-${n}`,
        payload: { url: `${fixture.fleet.url}/${n}` },
      })
    const page = await fixture.signedIn('#/tasks/http-request?tab=dead')
    await page.getByText('All 3, in 1 group by error, newest death first.').waitFor()
    await page.getByRole('table').getByText('is not in allow_ports').nth(2).waitFor()
    expect(await page.getByRole('table').getByText('is not in allow_ports').count()).toBe(3)
    await fixture.fleet.configure('http-request', 'w-1', { enabled: false })
    await page.getByLabel('Number to replay').fill('2')
    await page.getByRole('button', { name: 'Replay the oldest 2' }).click()
    await page.getByText('2 tasks requeued.').waitFor()
    await page.getByRole('button', { name: 'Remove all…' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Remove all…' }).click()
    await page.getByLabel('Type http-request to confirm').fill('http-request')
    await page.getByRole('button', { name: /^Remove \d dead tasks?$/ }).click()
    await page.getByText(/\d tasks? removed/).waitFor()
    await page.getByText('No dead letters').waitFor()
  })

  it('replays the dead tasks of a fixed worker and shows their output', async () => {
    await fixture.startWorker('http-request', 'w-1', { allow_ports: [1] })
    for (const n of [1, 2, 3])
      await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
        payload: { url: `${fixture.fleet.url}/healthz?${n}` },
      })
    const page = await fixture.signedIn('#/tasks/http-request?tab=dead')
    await page.getByText('All 3, in').waitFor()
    await fixture.fleet.configure('http-request', 'w-1', { allow_ports: [Number(new URL(fixture.fleet.url).port)] })
    await page.getByRole('button', { name: 'Replay 3…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 3' }).click()
    await page.getByText('3 tasks requeued.').waitFor()
    await page.getByText('No dead letters').waitFor()
    await page.goto(`${fixture.fleet.url}/#/output/http-request`)
    await page.getByRole('table', { name: 'Newest entries' }).getByText('"status":200').nth(2).waitFor()
  })
})
