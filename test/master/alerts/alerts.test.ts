/** Alerts over HTTP, and what a webhook receives of them, also after failures and from two masters (D200, D204). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { createHmac } from 'node:crypto'
import type { Alert, AlertsBody } from '../../../src/protocol/index.ts'
import type { MasterOptions } from '../../../src/master/index.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { canaries } from '../../kit/canary.ts'
import { eventually } from '../../kit/index.ts'
import { runMaster, SETTINGS, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { WebhookReceiver } from '../../kit/webhook-receiver.ts'

const PATH = `/${canaries.create('webhook-path')}`
const SECRET = canaries.create('webhook-secret')
const PAUSE = '/api/v1/automations/mailer/queue/pause'

const receivers: WebhookReceiver[] = []
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()))
})

async function receive(port = 0): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.start(port)
  receivers.push(receiver)
  return receiver
}

/** A store that outlives its masters. */
class SharedBackend extends MemoryBackend {
  override close(): Promise<void> {
    return Promise.resolve()
  }
}

interface World {
  readonly time: VirtualTime
  readonly backend: MemoryBackend
  readonly master: TestMaster
  readonly startMaster: () => Promise<TestMaster>
}

/** @param port Of the receiver; null: no webhook is configured. */
async function world(port: number | null, part: Partial<MasterOptions['settings']> = {}): Promise<World> {
  const time = new VirtualTime()
  const backend = new SharedBackend({ clock: time, random: systemRandom })
  const webhook = port === null ? null : { url: new URL(`http://127.0.0.1:${port}${PATH}?q=1`), secret: () => SECRET }
  const settings = { ...SETTINGS, alerts: { afterSeconds: 30, webhook }, ...part }
  const startMaster = (): Promise<TestMaster> => runMaster({ backend, clock: time, timers: time, settings })
  return { time, backend, startMaster, master: await startMaster() }
}

const list = async (master: TestMaster, token?: string): Promise<readonly Alert[]> =>
  ((await master.call('GET', '/api/v1/alerts', { token })).json as AlertsBody).alerts
const statesOf = (alerts: readonly Alert[]): readonly string[] =>
  alerts.map(({ type, kind, resolved_at: at }) => `${type} ${kind} ${at === null ? 'firing' : 'resolved'}`)

/** Advances in steps, so that requests of one step are complete before the next one. */
async function pass(time: VirtualTime, seconds: number): Promise<void> {
  for (let step = 0; step < seconds; step += 5) await time.advance(5_000)
}

const pause = (master: TestMaster) => master.call('PUT', PAUSE, { body: { note: 'the vendor is down' } })
const resume = (master: TestMaster) => master.call('DELETE', PAUSE)

async function metric(master: TestMaster, series: string): Promise<number> {
  const { text } = await master.call('GET', '/metrics')
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}
const requests = (master: TestMaster, result: string) =>
  metric(master, `svc_alert_webhook_requests_total{result="${result}"}`)

describe('the alerts of a fleet', () => {
  it('fire and are resolved, with id, subject, text and times (D200)', async () => {
    const { time, master } = await world(null)
    expect(await list(master)).toEqual([])
    await pause(master)
    await pass(time, 25)
    expect(await list(master)).toEqual([])
    await pass(time, 25)
    const [alert, ...others] = await list(master)
    expect(others).toEqual([])
    expect(alert).toEqual({
      id: expect.stringMatching(/^mailer\.paused\.[a-z0-9]+$/),
      type: 'mailer',
      kind: 'paused',
      item: 'paused',
      severity: 'warning',
      subject: 'mailer',
      text: 'paused by admin (the vendor is down), 0 tasks are waiting',
      count: 0,
      since: expect.any(Number),
      fired_at: expect.any(Number),
      resolved_at: null,
      acknowledged: false,
    })
    expect(await metric(master, 'svc_alerts_firing{automation_type="mailer",severity="warning"}')).toBe(1)
    await resume(master)
    await pass(time, 50)
    expect(await list(master)).toMatchObject([{ id: alert?.id, resolved_at: expect.any(Number) }])
    expect(await metric(master, 'svc_alerts_firing{automation_type="mailer",severity="warning"}')).toBeNaN()
  })

  it('are those of the types that the token covers', async () => {
    const { time, master } = await world(null)
    await pause(master)
    await pass(time, 50)
    expect(statesOf(await list(master, TOKENS.viewer))).toEqual(['mailer paused firing'])
    expect(await list(master, TOKENS.probe)).toEqual([])
  })

  it('of tasks that no worker can take are critical, and say how many wait', async () => {
    const { time, master } = await world(null)
    await master.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'ana' } } })
    await pass(time, 50)
    expect(await list(master)).toMatchObject([
      { kind: 'unserved', severity: 'critical', text: '1 task is waiting, but no worker can take it' },
    ])
  })

  it('continue with the same id at a master that starts on the store', async () => {
    const { time, master, startMaster } = await world(null)
    await pause(master)
    await pass(time, 50)
    const [before] = await list(master)
    await master.stop()
    const next = await startMaster()
    await pass(time, 50)
    expect(await list(next)).toMatchObject([{ id: before?.id, resolved_at: null }])
  })
})

describe('the webhook of alerts', () => {
  it('receives one signed request when an alert fires, and one when it is resolved', async () => {
    const receiver = await receive()
    const { time, master } = await world(receiver.port, { environment: { name: 'production', color: 'red' } })
    await pause(master)
    await pass(time, 120)
    await eventually('the alert is sent', () => receiver.received.length > 0)
    await resume(master)
    await pass(time, 120)
    await eventually('its end is sent', () => receiver.received.length > 1)
    await pass(time, 120)
    expect(receiver.received).toEqual(['firing mailer paused', 'resolved mailer paused'])
    const [fired, resolved] = receiver.deliveries
    expect(fired?.path).toBe(`${PATH}?q=1`)
    const [alert] = await list(master)
    expect(fired?.body).toMatchObject({
      version: '4',
      status: 'firing',
      alerts: [
        {
          fingerprint: alert?.id,
          labels: { alertname: 'MusterQueuePaused', severity: 'warning', environment: 'production' },
          annotations: { subject: 'mailer', count: '0', summary: `mailer: ${alert?.text}` },
          endsAt: '0001-01-01T00:00:00Z',
        },
      ],
    })
    expect(resolved?.body).toMatchObject({ status: 'resolved', alerts: [{ fingerprint: alert?.id }] })
    const [, at, mac] = /^t=(\d+),v1=([\da-f]{64})$/.exec(String(fired?.headers['muster-signature'])) ?? []
    expect(mac).toBe(createHmac('sha256', SECRET).update(`${at}.${fired?.text}`).digest('hex'))
    expect([await requests(master, 'delivered'), await requests(master, 'failed')]).toEqual([2, 0])
  })

  it.each([
    ['responds with 500', 500],
    ['redirects, which is not followed', 302],
    ['does not respond', 'never'],
  ] as const)('is retried while the receiver %s', async (_, mode) => {
    const receiver = await receive()
    receiver.mode = mode
    const { time, master } = await world(receiver.port)
    await pause(master)
    await pass(time, 60)
    await eventually('the first request failed', async () => {
      await time.advance(5_000)
      return (await requests(master, 'failed')) >= 2
    })
    receiver.mode = 200
    await eventually('a retry is delivered', async () => {
      await time.advance(5_000)
      return (await requests(master, 'delivered')) === 1
    })
    await pass(time, 600)
    expect(receiver.deliveries.map(({ path }) => path)).not.toContain('/elsewhere')
    const ids = receiver.deliveries.flatMap(({ body }) => body.alerts.map(({ fingerprint }) => fingerprint))
    expect(new Set(ids).size).toBe(1)
    const delivered = receiver.deliveries.length
    await pass(time, 600)
    expect(receiver.deliveries).toHaveLength(delivered)
    expect(master.lines.some(({ message }) => message === 'failed to send alerts to the webhook')).toBe(true)
  })

  it('gets what fires when the receiver is back, and nothing of alerts that came and went', async () => {
    const down = await receive()
    const { port } = down
    await down.stop()
    receivers.pop()
    const { time, master } = await world(port)
    await pause(master)
    await pass(time, 60)
    await resume(master)
    await pass(time, 60)
    await master.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'ana' } } })
    await pass(time, 60)
    expect(statesOf(await list(master))).toEqual(['mailer unserved firing', 'mailer paused resolved'])
    const receiver = await receive(port)
    await eventually('the receiver gets a request', async () => {
      await time.advance(5_000)
      return receiver.deliveries.length > 0
    })
    await pass(time, 60)
    expect(receiver.received).toEqual(['firing mailer unserved'])
  })

  it('gets nothing of an acknowledged problem, but its alert when the acknowledgement ends', async () => {
    const receiver = await receive()
    const { time, master } = await world(receiver.port)
    await master.call('PUT', '/api/v1/automations/mailer/acknowledgements/paused', { body: { seconds: 300 } })
    await pause(master)
    await pass(time, 120)
    expect(await list(master)).toMatchObject([{ kind: 'paused', acknowledged: true }])
    expect(receiver.deliveries).toEqual([])
    await pass(time, 240)
    await eventually('the alert is sent', () => receiver.received.length > 0)
    expect(receiver.received).toEqual(['firing mailer paused'])
  })

  it('gets each alert from one of two masters, and the end from the one that remains', async () => {
    const receiver = await receive()
    const { time, master, startMaster } = await world(receiver.port)
    const other = await startMaster()
    await pass(time, 30)
    await pause(master)
    await pass(time, 120)
    await eventually('the alert is sent', () => receiver.received.length > 0)
    await pass(time, 60)
    expect(receiver.received).toEqual(['firing mailer paused'])
    const sender = (await requests(master, 'delivered')) === 1 ? master : other
    const remaining = sender === master ? other : master
    await sender.stop()
    await pass(time, 60)
    await resume(remaining)
    await pass(time, 120)
    await eventually('its end is sent', () => receiver.received.length > 1)
    await pass(time, 60)
    expect(receiver.received).toEqual(['firing mailer paused', 'resolved mailer paused'])
    const [first, second] = receiver.deliveries.map(({ body }) => body.alerts[0]?.fingerprint)
    expect(second).toBe(first)
  })
})
