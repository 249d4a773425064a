// Generates the Grafana dashboards as text. A panel has a title, a unit and its Prometheus queries.
// Used by files.mjs. A test compares every metric named here with the exported metrics.

const PANELS_A_ROW = 3
const WIDTH = 24 / PANELS_A_ROW
const HEIGHT = 7

const BOARDS = {
  fleet: [
    'Muster: fleet',
    [
      [
        'Masters up, store up',
        'none',
        ['sum(svc_master_up)', 'masters'],
        ['min(svc_store_up)', 'store (1 = up on every master)'],
      ],
      [
        'Workers by state',
        'none',
        ['max by (automation_type, state) (svc_workers_total)', '{{automation_type}} {{state}}'],
      ],
      [
        'Longest time since a worker was last seen',
        's',
        ['max by (automation_type) (svc_worker_last_seen_age_seconds)', '{{automation_type}}'],
      ],
      [
        'Tasks: pending, in flight, scheduled',
        'none',
        ['max by (automation_type) (svc_queue_size)', 'pending {{automation_type}}'],
        ['max by (automation_type) (svc_tasks_in_flight)', 'in flight {{automation_type}}'],
        ['max by (automation_type) (svc_tasks_scheduled)', 'scheduled {{automation_type}}'],
      ],
      [
        'Age of the oldest pending task',
        's',
        ['max by (automation_type) (svc_queue_oldest_seconds)', '{{automation_type}}'],
      ],
      [
        'Slots of the connected workers, and slots that the load needs',
        'none',
        ['max by (automation_type) (svc_slots)', 'connected {{automation_type}}'],
        ['max by (automation_type) (svc_wanted_slots)', 'needed {{automation_type}}'],
      ],
      [
        'Groups of tasks: ready, waiting for their rate, in flight',
        'none',
        ['max by (automation_type) (svc_groups_ready)', 'ready {{automation_type}}'],
        ['max by (automation_type) (svc_groups_rate_limited)', 'rate-limited {{automation_type}}'],
        ['max by (automation_type) (svc_groups_in_flight)', 'in flight {{automation_type}}'],
      ],
      ['Dead-lettered tasks', 'none', ['max by (automation_type) (svc_queue_dlq_length)', '{{automation_type}}']],
      [
        'Reserve calls that wait for a task',
        'none',
        ['sum by (automation_type) (svc_reserve_waiters)', '{{automation_type}}'],
      ],
      [
        'Rejected submissions',
        'ops',
        ['sum by (automation_type, reason) (rate(svc_submits_refused_total[5m]))', '{{automation_type}} {{reason}}'],
      ],
      [
        'Lost leases',
        'ops',
        ['sum by (automation_type, outcome) (rate(svc_leases_lost_total[5m]))', '{{automation_type}} {{outcome}}'],
      ],
      ['Expired tasks', 'ops', ['sum by (automation_type) (rate(svc_tasks_expired_total[5m]))', '{{automation_type}}']],
      ['Entries in output streams', 'none', ['max by (automation_type) (svc_stream_length)', '{{automation_type}}']],
      [
        'Dropped and trimmed outputs',
        'ops',
        ['sum by (automation_type) (rate(svc_outputs_dropped_total[5m]))', 'dropped {{automation_type}}'],
        ['sum by (automation_type) (rate(svc_outputs_trimmed_total[5m]))', 'trimmed {{automation_type}}'],
      ],
      ['Items in pools', 'none', ['max by (pool) (svc_pool_size)', '{{pool}}']],
      [
        'Control sockets: open, and closed per second by close code',
        'none',
        ['sum(svc_control_sockets)', 'open'],
        ['sum by (code) (rate(svc_control_closed_total[5m]))', 'closed {{code}}'],
      ],
      ['Workers that wait to be admitted', 'none', ['max by (pod) (svc_control_handshakes_waiting)', '{{pod}}']],
      [
        'HTTP requests that ended with an error',
        'ops',
        ['sum by (status) (rate(svc_http_refusals_total[5m]))', '{{status}}'],
      ],
      [
        'Largest worker memory (RSS)',
        'decmbytes',
        ['max by (automation_type) (svc_worker_rss_mb)', '{{automation_type}}'],
      ],
    ],
  ],
  operator: [
    'Muster: operator',
    [
      ['Operators that lead', 'none', ['sum(leader_election_master_status)', 'leaders']],
      [
        'FleetWorkers by status of the condition Ready',
        'none',
        ['sum by (status) (svc_operator_workers{condition="Ready"})', '{{status}}'],
      ],
      [
        'FleetWorkerSets by status of the condition Ready',
        'none',
        ['max by (status) (svc_operator_sets{condition="Ready"})', '{{status}}'],
      ],
      ['Workers of FleetWorkerSets by state', 'none', ['max by (state) (svc_operator_set_workers)', '{{state}}']],
      [
        'Rollouts that ended within an hour, by outcome',
        'none',
        ['sum by (outcome) (increase(svc_operator_rollouts_total[1h]))', '{{outcome}}'],
      ],
      [
        'Time from the begin of a rollout to its outcome, 90th percentile',
        's',
        [
          'histogram_quantile(0.9, sum by (le, outcome) (rate(svc_operator_rollout_seconds_bucket[1h])))',
          '{{outcome}}',
        ],
      ],
      [
        'Circuit breaker for the master (1 = current state)',
        'none',
        ['max by (state) (svc_operator_breaker_state)', '{{state}}'],
      ],
      [
        'Time from an edit to its conditions, 99th percentile',
        's',
        ['histogram_quantile(0.99, sum by (le) (rate(svc_operator_edit_to_applied_seconds_bucket[5m])))', 'Applied'],
        ['histogram_quantile(0.99, sum by (le) (rate(svc_operator_edit_to_synced_seconds_bucket[5m])))', 'Synced'],
      ],
      ['Reconciles', 'ops', ['sum by (result) (rate(controller_runtime_reconcile_total[5m]))', '{{result}}']],
      ['Work queue depth', 'none', ['sum by (name) (workqueue_depth)', '{{name}}']],
      ['Config drift by outcome', 'ops', ['sum by (outcome) (rate(svc_operator_drift_total[5m]))', '{{outcome}}']],
      [
        'Requests to the master',
        'ops',
        ['sum by (method, code) (rate(svc_operator_master_request_seconds_count[5m]))', '{{method}} {{code}}'],
      ],
      [
        'Requests to the API server',
        'ops',
        ['sum by (method, code) (rate(rest_client_requests_total[5m]))', '{{method}} {{code}}'],
      ],
    ],
  ],
}

const panel = ([title, unit, ...targets], index) => ({
  id: index + 1,
  title,
  type: 'timeseries',
  datasource: { type: 'prometheus', uid: '${datasource}' },
  gridPos: { x: (index % PANELS_A_ROW) * WIDTH, y: Math.floor(index / PANELS_A_ROW) * HEIGHT, w: WIDTH, h: HEIGHT },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: targets.map(([expr, legendFormat], at) => ({ refId: 'ABC'[at], expr, legendFormat })),
})

const board = (name, [title, panels]) => ({
  uid: `muster-${name}`,
  title,
  tags: ['muster'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' }] },
  panels: panels.map(panel),
})

/** File name to text. */
export const dashboards = () =>
  new Map(
    Object.entries(BOARDS).map(([name, each]) => [`${name}.json`, `${JSON.stringify(board(name, each), null, 2)}\n`]),
  )
