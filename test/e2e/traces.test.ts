/** Tests traces with a real OTLP receiver, which searches every export for secrets. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Fleet } from './fleet.ts'
import { canaries } from '../kit/canary.ts'
import { eventually } from '../kit/index.ts'
import { TraceReceiver } from '../kit/trace-receiver.ts'

const worlds: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const part of worlds.splice(0).toReversed()) await part.stop()
})

async function fixture(): Promise<{ receiver: TraceReceiver; fleet: Fleet }> {
  const receiver = await new TraceReceiver().start()
  const fleet = new Fleet()
  worlds.push(receiver, fleet)
  return { receiver, fleet }
}

describe('traces', () => {
  it('are exported by master and worker with the names of the specification, without a secret', async () => {
    const secret = canaries.create('write-only')
    const { receiver, fleet } = await fixture()
    await fleet.startMaster({ ...receiver.settings, OTEL_SERVICE_NAME: 'the-master' })
    fleet.startWorker('http-request', 'r-1', receiver.settings)
    fleet.startWorker('http-probe', 'p-1', { ...receiver.settings, SVC_OTEL_ENABLED: '1' })
    const port = Number(new URL(fleet.url).port)
    const allowed = { enabled: true, allow_cidrs: ['127.0.0.0/8'], allow_ports: [port] }
    await fleet.configure('http-request', 'r-1', { ...allowed, authorization: secret })
    await fleet.configure('http-probe', 'p-1', allowed)

    const good = await fleet.ok<{ task_id: string }>('POST', '/automations/http-request/tasks', {
      payload: { url: `${fleet.url}/healthz` },
      priority: 7,
    })
    const bad = await fleet.ok<{ task_id: string }>('POST', '/automations/http-request/tasks', {
      payload: { url: `${fleet.url}/nothing-here?key=${secret}` },
    })
    await eventually('both runs are exported', async () => receiver.named('slot.run_one').length === 2, {
      context: () => receiver.spans.map(({ name }) => name).join(),
    })
    await fleet.configure('http-probe', 'p-1', { enabled: false })
    await eventually(
      'the end of the continuous slot is exported',
      async () => receiver.named('slot.run_continuous').length > 0,
    )

    expect([...receiver.paths]).toEqual(['/v1/traces'])
    expect(new Set(receiver.spans.map(({ name }) => name))).toEqual(
      new Set(['api.submit_task', 'slot.reserve', 'slot.run_one', 'slot.run_continuous']),
    )
    expect(receiver.named('api.submit_task')[0]).toMatchObject({
      service: 'the-master',
      attributes: { 'fleet.automation_type': 'http-request', 'fleet.task_id': good.task_id, 'fleet.priority': 7 },
    })
    const slot = { 'fleet.automation_type': 'http-request', 'fleet.worker_id': 'r-1', 'fleet.slot_id': 0 }
    expect(receiver.named('slot.reserve')[0]).toMatchObject({ service: 'muster', attributes: slot })
    const [first, second] = receiver.named('slot.run_one')
    expect(first).toMatchObject({
      attributes: { ...slot, 'fleet.task_id': good.task_id, 'fleet.attempt': 0 },
      exceptions: [],
      failed: false,
    })
    expect(second).toMatchObject({ attributes: { 'fleet.task_id': bad.task_id }, failed: true })
    expect(second?.exceptions[0]).toMatchObject({
      'exception.type': 'Permanent',
      'exception.message': `GET ${fleet.url}/nothing-here returned 401`,
    })
    expect(receiver.named('slot.run_continuous')[0]).toMatchObject({
      attributes: { 'fleet.automation_type': 'http-probe', 'fleet.worker_id': 'p-1', 'fleet.slot_id': 0 },
    })
  }, 60_000)

  it('join the trace of the caller, and each run starts its own with a link (D113)', async () => {
    const { receiver, fleet } = await fixture()
    await fleet.startMaster(receiver.settings)
    fleet.startWorker('http-request', 'r-1', receiver.settings)
    const port = Number(new URL(fleet.url).port)
    await fleet.configure('http-request', 'r-1', { enabled: true, allow_cidrs: ['127.0.0.0/8'], allow_ports: [port] })
    const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    const path = '/automations/http-request/tasks'
    const body = { payload: { url: `${fleet.url}/healthz` } }
    const { status } = await fleet.call('POST', path, body, { traceparent: `00-${traceId}-${spanId}-01` })
    expect(status).toBe(200)
    await eventually('both are exported', async () =>
      ['api.submit_task', 'slot.run_one'].every((name) => receiver.named(name).length === 1),
    )
    const [submitted] = receiver.named('api.submit_task')
    const [run] = receiver.named('slot.run_one')
    expect(submitted).toMatchObject({ traceId, parentSpanId: spanId })
    expect(run?.links).toEqual([{ traceId, spanId: submitted?.spanId }])
    expect(run?.traceId).not.toBe(traceId)
  }, 60_000)

  it('cost one warning and no exit code when the collector is unavailable', async () => {
    const { fleet, receiver } = await fixture()
    const { settings } = receiver
    await worlds.shift()?.stop()
    const master = await fleet.startMaster({ ...settings, OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
    await fleet.ok('POST', '/automations/http-request/tasks', { payload: { url: 'http://example.com/' } })
    master.child.kill('SIGTERM')
    expect(await master.exited).toBe(0)
  }, 60_000)
})
