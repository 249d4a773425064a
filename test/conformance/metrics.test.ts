/** GET /metrics: the text exposition format. */
import { expect, it } from '@jest/globals'
import { onEachStore } from './fixture.ts'
import { eventually } from '../kit/index.ts'

onEachStore('metrics', (open) => {
  it(
    'metric/svc_master_up, metric/svc_workers_total, metric/svc_worker_last_seen_age_seconds, ' +
      'metric/svc_worker_slots, metric/svc_worker_cpu_pct, metric/svc_worker_rss_mb, metric/svc_stream_length, ' +
      'metric/svc_queue_size, metric/svc_queue_dlq_length, metric/svc_pool_size: ' +
      'reports the fleet',
    async () => {
      const fixture = await open()
      const worker = await fixture.worker('w-1')
      worker.state()
      worker.stats({ slots: 3, cpu_pct: 12.5, rss_mb: 80 })
      worker.output({ sent: true })
      await eventually(
        async () =>
          (await fixture.record('w-1')).current_stats !== null &&
          (await fixture.ok('GET', '/mailer/output/length')).length === 1 &&
          (await fixture.record('w-1')).state === 'RUNNING',
      )
      await fixture.rpc('w-1', 'pool.put', {
        pool: 'accounts',
        items: [
          { id: 'a', tags: {}, payload: { user: 'a' } },
          { id: 'b', tags: {}, payload: { user: 'b' } },
        ],
      })
      await fixture.dead('w-1')
      for (const priority of [-1, 0, 1]) await fixture.submit({ priority })
      await fixture.time.advance(4_000)
      const worker1 = '{automation_type="mailer",worker_id="w-1"}'
      const expected = {
        svc_master_up: '1',
        'svc_workers_total{automation_type="mailer",state="RUNNING"}': '1',
        'svc_workers_total{automation_type="mailer",state="DRAINING"}': '0',
        'svc_workers_total{automation_type="probe",state="IDLE"}': '0',
        'svc_workers_total{automation_type="mailer",state="ERROR"}': '0',
        [`svc_worker_last_seen_age_seconds${worker1}`]: '4',
        [`svc_worker_slots${worker1}`]: '3',
        [`svc_worker_cpu_pct${worker1}`]: '12.5',
        [`svc_worker_rss_mb${worker1}`]: '80',
        'svc_stream_length{automation_type="mailer"}': '1',
        'svc_queue_size{automation_type="mailer"}': '3',
        'svc_queue_dlq_length{automation_type="mailer"}': '1',
        'svc_pool_size{pool="accounts"}': '2',
      }
      const seen: Record<string, string | undefined> = {}
      for (const series of Object.keys(expected)) seen[series] = await fixture.metric(series)
      expect(seen).toEqual(expected)
    },
  )

  it('D1b: prefixes every metric with svc_', async () => {
    const { text } = await (await open()).call('GET', '/metrics', { token: null })
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? '')
    expect(names.length).toBeGreaterThan(9)
    expect(names.filter((name) => !/^(svc|process|nodejs)_/.test(name))).toEqual([])
  })
})
