/** Checks that alerts fire only for their cause, each alert has advice, and queries use only exported metrics (R3). */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { started } from '../hack/tree.ts'
import { CHART } from './chart.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const RULES = join(CHART, 'files/rules.yaml')
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}
const rules = (parse(readFileSync(RULES, 'utf8')) as { groups: readonly { rules: readonly Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)

/** One hour of a healthy fleet. */
const HEALTHY: Readonly<Record<string, string>> = {
  'svc_master_up{namespace="muster", pod="m-0"}': '1x90',
  'svc_store_up{namespace="muster", pod="m-0"}': '1x90',
  'svc_store_info{namespace="muster", backend="redis", profile="durable"}': '1x90',
  'svc_store_regressions_total{}': '0x90',
  'svc_queue_dlq_length{automation_type="mail"}': '5x90',
  'svc_queue_size{automation_type="mail"}': '5000-10x90',
  'svc_wanted_slots{automation_type="mail"}': '8x90',
  'svc_slots{automation_type="mail"}': '8x90',
  'svc_submits_refused_total{automation_type="mail", reason="full"}': '3x90',
  'svc_leases_lost_total{automation_type="mail", outcome="pending"}': '4x90',
  'svc_outputs_dropped_total{automation_type="mail", reason="schema"}': '4x90',
  'svc_worker_last_seen_age_seconds{automation_type="mail", worker_id="w-0"}': '12x90',
  'svc_control_handshakes_waiting{namespace="muster", pod="m-0"}': '0x90',
  'leader_election_master_status{namespace="muster", name="muster-operator", pod="o-0"}': '1x90',
  'leader_election_master_status{namespace="muster", name="muster-operator", pod="o-1"}': '0x90',
  'svc_operator_breaker_state{namespace="muster", state="closed"}': '1x90',
  'svc_operator_workers{condition="Ready", status="False"}': '0x90',
  'svc_operator_watch_age_seconds{name="fleetworkers"}': '30x90',
  'svc_operator_sets{condition="Stalled", status="True"}': '0x90',
}
/** The cause of each alert: one series of the healthy fleet with wrong values, or without values (null). */
const CAUSES: Readonly<Record<string, readonly [series: string, values: string | null]>> = {
  MusterMasterAbsent: ['svc_master_up', null],
  MusterStoreDown: ['svc_store_up', '0x90'],
  MusterStoreNotDurable: ['svc_store_info{namespace="muster", backend="redis", profile="unsafe"}', '1x90'],
  MusterStoreWentBack: ['svc_store_regressions_total', '0x70 1x19'],
  MusterDeadLettersGrow: ['svc_queue_dlq_length', '5+1x90'],
  MusterQueueGrows: ['svc_queue_size', '5000+10x90'],
  MusterSlotsTooFew: ['svc_wanted_slots', '9x90'],
  MusterSubmitsRefused: ['svc_submits_refused_total', '3+1x90'],
  MusterLeasesLost: ['svc_leases_lost_total', '4+2x90'],
  MusterOutputsDropped: ['svc_outputs_dropped_total', '4+1x90'],
  MusterWorkerSilent: ['svc_worker_last_seen_age_seconds', '12+60x90'],
  MusterWorkersWaitForAdmission: ['svc_control_handshakes_waiting', '900x90'],
  MusterOperatorNoLeader: ['leader_election_master_status', '0x90'],
  MusterOperatorCannotReachMaster: ['svc_operator_breaker_state', '0x90'],
  MusterFleetWorkersNotReady: ['svc_operator_workers', '2x90'],
  MusterOperatorWatchStale: ['svc_operator_watch_age_seconds', '30+60x90'],
  MusterRolloutRolledBack: ['svc_operator_sets{condition="RolledBack", status="True"}', '1x90'],
  MusterFleetWorkerSetStalled: ['svc_operator_sets', '1x90'],
}

const nameOf = (series: string): string => series.replace(/\{.*/, '')
function seriesOf(cause?: readonly [string, string | null]): readonly object[] {
  const kept = Object.entries(HEALTHY).filter(
    ([series]) => cause === undefined || cause[1] !== null || nameOf(series) !== nameOf(cause[0]),
  )
  const changed = kept.map(([series, values]) => ({
    series,
    values: cause?.[1] != null && nameOf(series) === nameOf(cause[0]) ? cause[1] : values,
  }))
  return cause?.[0].includes('{') === true
    ? [...changed.filter((each) => nameOf(each.series) !== nameOf(cause[0])), { series: cause[0], values: cause[1] }]
    : changed
}

const firing = (alert: string, value: number): object => ({
  expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
  eval_time: '90m',
  exp_samples: value === 0 ? [] : [{ labels: '{}', value }],
})

describe('the alerts', () => {
  it('fire only for their cause', () => {
    const folder = temporaryFolder()
    const test = (name: string, cause?: readonly [string, string | null]): object => ({
      name,
      interval: '1m',
      input_series: seriesOf(cause),
      promql_expr_test: rules.map(({ alert }) => firing(alert, alert === name ? 1 : 0)),
    })
    writeFileSync(
      join(folder, 'test.yaml'),
      stringify(
        {
          rule_files: [RULES],
          evaluation_interval: '1m',
          tests: [test('all is well'), ...Object.entries(CAUSES).map(([name, cause]) => test(name, cause))],
        },
        { aliasDuplicateObjects: false },
      ),
    )
    const { status, stdout, stderr } = started('promtool', ['test', 'rules', join(folder, 'test.yaml')])
    expect([status, stdout.includes('SUCCESS'), stderr]).toEqual([0, true, ''])
  })

  it('on dead letters fires once if two masters export the same queue, as older releases do (D93)', () => {
    const folder = temporaryFolder()
    const letters = (pod: string, values: string): object => {
      const labels = `namespace="muster", automation_type="mail", pod="${pod}"`
      return { series: `svc_queue_dlq_length{${labels}}`, values }
    }
    const input = [letters('m-0', '5+1x90'), letters('m-1', '5+1x90')]
    const test = { interval: '1m', input_series: input, promql_expr_test: [firing('MusterDeadLettersGrow', 1)] }
    const content = { rule_files: [RULES], evaluation_interval: '1m', tests: [test] }
    writeFileSync(join(folder, 'test.yaml'), stringify(content, { aliasDuplicateObjects: false }))
    const { stdout, stderr } = started('promtool', ['test', 'rules', join(folder, 'test.yaml')])
    expect([stdout.includes('SUCCESS'), stderr]).toEqual([true, ''])
  })

  it('are all tested and have advice', () => {
    expect(rules.map(({ alert }) => alert).toSorted()).toEqual(Object.keys(CAUSES).toSorted())
    for (const {
      annotations: { summary, runbook },
    } of rules)
      expect([summary.length > 10, runbook.length > 40, /[.?]$/.test(runbook)]).toEqual([true, true, true])
  })
})

describe('every query', () => {
  it('uses only exported metrics', () => {
    const documented = ['src/master/README.md', 'src/operator/README.md'].flatMap((page) =>
      [...readFileSync(resolve(page), 'utf8').matchAll(/^\| `([a-z_]+)` \| (?:gauge|counter|histogram)/gm)].map(
        ([, name]) => name,
      ),
    )
    const boards = readdirSync(join(CHART, 'files/dashboards')).map(
      (name) =>
        JSON.parse(readFileSync(join(CHART, 'files/dashboards', name), 'utf8')) as {
          panels: readonly { targets: readonly { expr: string }[] }[]
        },
    )
    const queries = [
      ...rules.map(({ expr }) => expr),
      ...boards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
    ]
    const named = queries.flatMap((query) =>
      [...query.matchAll(/\b(?:svc|controller_runtime|workqueue|leader_election|rest_client)_[a-z_]+/g)].map(([name]) =>
        name.replace(/_(bucket|count|sum)$/, ''),
      ),
    )
    expect(named.length).toBeGreaterThan(30)
    expect([...new Set(named)].filter((name) => !documented.includes(name))).toEqual([])
  })
})
