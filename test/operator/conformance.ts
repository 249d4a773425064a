/**
 * Exchanges for which the fake API server and a real kube-apiserver must return the same responses. Tests may rely only
 * on behaviour that is listed here. `answerTo` runs a scenario against a server, given its address and a token, and
 * compares the responses with the expected ones. Times, ids and versions are named by steps and compared only where a
 * step says so.
 *
 * In expected bodies, an object is matched by its listed fields, others may exist; `ANY` matches any existing value;
 * `ABSENT` a missing one. `{{a.metadata.uid}}` in a path or body is replaced by that part of the response of step a.
 */
import { fetch, type Dispatcher } from 'undici'

interface Exchange {
  /** A name by which later steps refer to the response. */
  readonly as?: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly contentType?: string
  readonly accept?: string
  readonly body?: unknown
  readonly status: number
  readonly expected?: unknown
  /** Lines of a watch, in order; the watch is closed after them. */
  readonly lines?: readonly unknown[]
}
export interface Scenario {
  readonly title: string
  readonly steps: readonly Exchange[]
}

const ANY = '<any>'
const ABSENT = '<absent>'
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const PROBES = '/apis/conformance.muster.dev/v1/namespaces/default/probes'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
const head = { apiVersion: 'conformance.muster.dev/v1', kind: 'Probe' }

const probe = (name: string, spec: object = { type: 'a' }, metadata: object = {}): object => ({
  ...head,
  metadata: { name, ...metadata },
  spec,
})
const create = (name: string, spec?: object, metadata?: object): Exchange => ({
  as: 'it',
  method: 'POST',
  path: PROBES,
  body: probe(name, spec, metadata),
  status: 201,
  expected: {},
})
const status = (code: number, reason: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason,
  code,
})
const apply = (
  name: string,
  manager: string,
  statusBody: object,
  rest: Partial<Exchange> = {},
  metadata: object = {},
): Exchange => ({
  method: 'PATCH',
  path: `${PROBES}/${name}/status?fieldManager=${manager}&force=true`,
  contentType: APPLY,
  body: { ...head, metadata: { name, ...metadata }, status: statusBody },
  status: 200,
  ...rest,
})

export const CONFORMANCE: readonly Scenario[] = [
  {
    title: "a new object has a uid, a version, generation 1 and its defaults, and no status of the creator's",
    steps: [
      {
        ...create('c1'),
        body: { ...probe('c1'), status: { state: 'MINE' } },
        expected: {
          ...head,
          metadata: {
            name: 'c1',
            namespace: 'default',
            uid: ANY,
            resourceVersion: ANY,
            generation: 1,
            creationTimestamp: ANY,
          },
          spec: { type: 'a', policy: 'Enforce' },
        },
      },
      {
        method: 'GET',
        path: `${PROBES}/c1`,
        status: 200,
        expected: { metadata: { uid: '{{it.metadata.uid}}' }, status: { observedGeneration: -1, state: ABSENT } },
      },
      { method: 'POST', path: PROBES, body: probe('c1'), status: 409, expected: status(409, 'AlreadyExists') },
      { method: 'POST', path: PROBES, body: probe('c2', {}), status: 422, expected: status(422, 'Invalid') },
      { method: 'GET', path: `${PROBES}/none`, status: 404, expected: status(404, 'NotFound') },
      { method: 'GET', path: '/apis/conformance.muster.dev/v1/namespaces/default/absent', status: 404 },
    ],
  },
  {
    title: 'the generation counts changes of the spec only, and equal content is no change',
    steps: [
      create('g1'),
      {
        as: 'label',
        method: 'PATCH',
        path: `${PROBES}/g1`,
        contentType: MERGE,
        body: { metadata: { labels: { a: 'b' } } },
        status: 200,
        expected: { metadata: { generation: 1, labels: { a: 'b' } } },
      },
      {
        as: 'edit',
        method: 'PATCH',
        path: `${PROBES}/g1`,
        contentType: MERGE,
        body: { spec: { slots: 3 } },
        status: 200,
        expected: { metadata: { generation: 2 }, spec: { slots: 3, type: 'a' } },
      },
      {
        method: 'PATCH',
        path: `${PROBES}/g1`,
        contentType: MERGE,
        body: { spec: { slots: 3 } },
        status: 200,
        expected: { metadata: { generation: 2, resourceVersion: '{{edit.metadata.resourceVersion}}' } },
      },
      {
        method: 'PATCH',
        path: `${PROBES}/g1`,
        contentType: MERGE,
        body: { spec: { slots: null }, status: { state: 'MINE' } },
        status: 200,
        expected: { metadata: { generation: 3 }, spec: { slots: ABSENT }, status: { state: ABSENT } },
      },
    ],
  },
  {
    title: 'a write with an old version, or another uid, is a conflict',
    steps: [
      create('p1'),
      { method: 'PATCH', path: `${PROBES}/p1`, contentType: MERGE, body: { spec: { slots: 1 } }, status: 200 },
      {
        method: 'PUT',
        path: `${PROBES}/p1`,
        body: probe('p1', { type: 'b' }, { resourceVersion: '{{it.metadata.resourceVersion}}' }),
        status: 409,
        expected: status(409, 'Conflict'),
      },
      {
        method: 'DELETE',
        path: `${PROBES}/p1`,
        body: { preconditions: { uid: 'another' } },
        status: 409,
        expected: status(409, 'Conflict'),
      },
      {
        method: 'PUT',
        path: `${PROBES}/p1`,
        body: probe('p1', { type: 'b' }),
        status: 422,
        expected: status(422, 'Invalid'),
      },
      {
        method: 'PATCH',
        path: `${PROBES}/p1?fieldManager=m&force=true`,
        contentType: APPLY,
        body: probe('p1', { type: 'b' }, { uid: 'another' }),
        status: 422,
        expected: status(422, 'Invalid'),
      },
      apply(
        'p1',
        'm',
        { state: 'X' },
        { status: 409, expected: status(409, 'Conflict') },
        { resourceVersion: '{{it.metadata.resourceVersion}}' },
      ),
      apply('p1', 'm', { state: 'Y' }, { expected: { status: { state: 'Y' } } }, { uid: 'not looked at for a status' }),
      {
        method: 'DELETE',
        path: `${PROBES}/p1`,
        body: { preconditions: { uid: '{{it.metadata.uid}}' } },
        status: 200,
        expected: { kind: 'Status', status: 'Success' },
      },
      apply('p1', 'm', { state: 'X' }, { status: 404, expected: status(404, 'NotFound') }),
    ],
  },
  {
    title: 'a status is applied by its manager: omitted fields are removed, fields of other managers stay',
    steps: [
      create('s1'),
      apply(
        's1',
        'one',
        {
          observedGeneration: 1,
          state: 'IDLE',
          conditions: [
            { type: 'Ready', status: 'False' },
            { type: 'Stalled', status: 'True' },
          ],
        },
        { expected: { metadata: { generation: 1 }, status: { observedGeneration: 1, state: 'IDLE' } } },
      ),
      apply('s1', 'two', { conditions: [{ type: 'Theirs', status: 'True' }] }),
      apply(
        's1',
        'one',
        { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] },
        {
          as: 'last',
          expected: {
            status: {
              state: ABSENT,
              conditions: [
                { type: 'Ready', status: 'True' },
                { type: 'Theirs', status: 'True' },
              ],
            },
          },
        },
      ),
      apply(
        's1',
        'one',
        { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] },
        { expected: { metadata: { resourceVersion: '{{last.metadata.resourceVersion}}' } } },
      ),
      apply('s1', 'two', { state: 'RUNNING' }),
      apply('s1', 'one', { observedGeneration: 1 }, { expected: { status: { state: 'RUNNING', conditions: ABSENT } } }),
      {
        ...apply('s1', 'two', { observedGeneration: 7 }),
        path: `${PROBES}/s1/status?fieldManager=two`,
        status: 409,
        expected: status(409, 'Conflict'),
      },
      apply('s1', 'two', { observedGeneration: 7 }, { expected: { status: { observedGeneration: 7 } } }),
    ],
  },
  {
    title: 'an object in a status is removed once its manager omits it, except for fields of other managers',
    steps: [
      create('o1'),
      apply(
        'o1',
        'one',
        { state: 'IDLE', drift: { count: 1, by: 'a' } },
        { expected: { status: { drift: { count: 1, by: 'a' } } } },
      ),
      apply('o1', 'one', { state: 'IDLE' }, { expected: { status: { state: 'IDLE', drift: ABSENT } } }),
      apply('o1', 'one', { state: 'IDLE', drift: { count: 1 } }),
      apply('o1', 'two', { drift: { by: 'b' } }),
      apply('o1', 'one', { state: 'IDLE' }, { expected: { status: { drift: { count: ABSENT, by: 'b' } } } }),
    ],
  },
  {
    title: 'a finalizer keeps a deleted object until it is removed with a tested patch',
    steps: [
      create('f1', { type: 'a' }, { finalizers: ['muster.dev/release', 'example.org/other'] }),
      {
        method: 'DELETE',
        path: `${PROBES}/f1`,
        status: 200,
        expected: { metadata: { name: 'f1', deletionTimestamp: ANY, generation: 2 } },
      },
      {
        method: 'PATCH',
        path: `${PROBES}/f1`,
        contentType: JSON_PATCH,
        body: [
          { op: 'test', path: '/metadata/finalizers/0', value: 'example.org/other' },
          { op: 'remove', path: '/metadata/finalizers/0' },
        ],
        status: 422,
        expected: status(422, 'Invalid'),
      },
      {
        method: 'PATCH',
        path: `${PROBES}/f1`,
        contentType: JSON_PATCH,
        body: [
          { op: 'test', path: '/metadata/uid', value: '{{it.metadata.uid}}' },
          { op: 'test', path: '/metadata/finalizers/0', value: 'muster.dev/release' },
          { op: 'remove', path: '/metadata/finalizers/0' },
        ],
        status: 200,
        expected: { metadata: { finalizers: ['example.org/other'] } },
      },
      {
        method: 'PATCH',
        path: `${PROBES}/f1`,
        contentType: MERGE,
        body: { metadata: { finalizers: null } },
        status: 200,
      },
      { method: 'GET', path: `${PROBES}/f1`, status: 404, expected: status(404, 'NotFound') },
    ],
  },
  {
    title: 'the scale of an object is its slots, and an error without slots',
    steps: [
      create('n1'),
      { method: 'GET', path: `${PROBES}/n1/scale`, status: 500 },
      { method: 'PATCH', path: `${PROBES}/n1`, contentType: MERGE, body: { spec: { slots: 2 } }, status: 200 },
      {
        method: 'GET',
        path: `${PROBES}/n1/scale`,
        status: 200,
        expected: { kind: 'Scale', apiVersion: 'autoscaling/v1', spec: { replicas: 2 } },
      },
      {
        method: 'PATCH',
        path: `${PROBES}/n1/scale`,
        contentType: MERGE,
        body: { spec: { replicas: 5 } },
        status: 200,
        expected: { spec: { replicas: 5 } },
      },
      {
        method: 'PATCH',
        path: `${PROBES}/n1/scale`,
        contentType: MERGE,
        body: { metadata: { resourceVersion: '1' }, spec: { replicas: 7 } },
        status: 409,
        expected: status(409, 'Conflict'),
      },
      {
        method: 'PATCH',
        path: `${PROBES}/n1/scale`,
        contentType: JSON_PATCH,
        body: [
          { op: 'test', path: '/spec/replicas', value: 4 },
          { op: 'add', path: '/spec/replicas', value: 6 },
        ],
        status: 422,
        expected: status(422, 'Invalid'),
      },
      {
        method: 'PATCH',
        path: `${PROBES}/n1/scale`,
        contentType: JSON_PATCH,
        body: [
          { op: 'test', path: '/spec/replicas', value: 5 },
          { op: 'add', path: '/spec/replicas', value: 5 },
        ],
        status: 200,
        expected: { spec: { replicas: 5 } },
      },
      {
        method: 'GET',
        path: `${PROBES}/n1`,
        status: 200,
        expected: { spec: { slots: 5 }, metadata: { generation: 3 } },
      },
    ],
  },
  {
    title: 'a list is returned in pages of one version',
    steps: [
      create('l1'),
      create('l2'),
      create('l3'),
      {
        as: 'first',
        method: 'GET',
        path: `${PROBES}?limit=2`,
        status: 200,
        expected: {
          kind: 'ProbeList',
          metadata: { continue: ANY, resourceVersion: ANY, remainingItemCount: 1 },
          items: [{ metadata: { name: 'l1' } }, { metadata: { name: 'l2' } }],
        },
      },
      create('l0'),
      {
        method: 'GET',
        path: `${PROBES}?limit=2&continue={{first.metadata.continue}}`,
        status: 200,
        expected: {
          metadata: { continue: ABSENT, resourceVersion: '{{first.metadata.resourceVersion}}' },
          items: [{ metadata: { name: 'l3' } }],
        },
      },
      {
        method: 'GET',
        path: `${PROBES}/l1`,
        accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
        status: 200,
        expected: { kind: 'PartialObjectMetadata', metadata: { name: 'l1' }, spec: ABSENT },
      },
    ],
  },
  {
    title: 'a watch resumes from a version, in order',
    steps: [
      { as: 'list', method: 'GET', path: `${PROBES}?limit=1`, status: 200 },
      create('w1'),
      { method: 'PATCH', path: `${PROBES}/w1`, contentType: MERGE, body: { spec: { slots: 1 } }, status: 200 },
      apply('w1', 'm', { state: 'RUNNING' }),
      { method: 'DELETE', path: `${PROBES}/w1`, status: 200 },
      {
        method: 'GET',
        path:
          `${PROBES}?watch=true&allowWatchBookmarks=true&timeoutSeconds=30` +
          '&resourceVersion={{list.metadata.resourceVersion}}',
        status: 200,
        lines: [
          { type: 'ADDED', object: { metadata: { name: 'w1', generation: 1 } } },
          { type: 'MODIFIED', object: { spec: { slots: 1 }, metadata: { generation: 2 } } },
          { type: 'MODIFIED', object: { status: { state: 'RUNNING' } } },
          { type: 'DELETED', object: { metadata: { name: 'w1', uid: '{{it.metadata.uid}}' } } },
        ],
      },
    ],
  },
  {
    title: 'a lease is taken by a client that names its version',
    steps: [
      {
        as: 'lease',
        method: 'POST',
        path: LEASES,
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'lead' },
          spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
        },
        status: 201,
        expected: { spec: { holderIdentity: 'a' } },
      },
      {
        method: 'PUT',
        path: `${LEASES}/lead`,
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'lead', resourceVersion: '{{lease.metadata.resourceVersion}}' },
          spec: { holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 1 },
        },
        status: 200,
        expected: { spec: { holderIdentity: 'b', leaseTransitions: 1 } },
      },
      {
        method: 'PUT',
        path: `${LEASES}/lead`,
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'lead', resourceVersion: '{{lease.metadata.resourceVersion}}' },
          spec: { holderIdentity: 'c' },
        },
        status: 409,
        expected: status(409, 'Conflict'),
      },
      {
        method: 'PUT',
        path: `${LEASES}/lead`,
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'lead' },
          spec: { holderIdentity: '', leaseDurationSeconds: 1 },
        },
        status: 422,
        expected: status(422, 'Invalid'),
      },
      { method: 'DELETE', path: `${LEASES}/lead`, status: 200 },
    ],
  },
  {
    title: 'an Event names its reporter, and its series can be incremented',
    steps: [
      {
        method: 'POST',
        path: EVENTS,
        body: event('e1', { action: 'Look', reportingController: 'muster.dev/operator', reportingInstance: 'pod-1' }),
        status: 201,
        expected: { reason: 'Seen', note: 'a note' },
      },
      { method: 'POST', path: EVENTS, body: event('e2', {}), status: 422, expected: status(422, 'Invalid') },
      {
        method: 'PATCH',
        path: `${EVENTS}/e1`,
        contentType: MERGE,
        body: { series: { count: 3, lastObservedTime: '2026-01-01T00:05:00.000000Z' } },
        status: 200,
        expected: { series: { count: 3 } },
      },
      { method: 'DELETE', path: `${EVENTS}/e1`, status: 200 },
    ],
  },
]

function event(name: string, rest: object): object {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name },
    eventTime: '2026-01-01T00:00:00.000000Z',
    type: 'Normal',
    reason: 'Seen',
    note: 'a note',
    regarding: { ...head, namespace: 'default', name: 'c1', uid: 'uid' },
    ...rest,
  }
}

/** The dispatcher trusts the authority of a server with TLS. */
export interface Server {
  readonly url: string
  readonly token: string
  readonly dispatcher?: Dispatcher
}

/** Runs a scenario. @returns the differences; empty: none. */
export async function answerTo({ steps }: Scenario, server: Server): Promise<readonly string[]> {
  const saved = new Map<string, unknown>()
  const faults: string[] = []
  for (const [index, step] of steps.entries()) {
    const at = `step ${index + 1}, ${step.method} ${step.path}`
    const answer = await played(filled(step, saved) as Exchange, server)
    if (step.as !== undefined) saved.set(step.as, answer.body)
    if (answer.status !== step.status)
      faults.push(
        `${at}: answered ${answer.status} instead of ${step.status}: ${JSON.stringify(answer.body).slice(0, 300)}`,
      )
    if (step.expected !== undefined) faults.push(...differences(answer.body, filled(step.expected, saved), at))
    if (step.lines !== undefined) faults.push(...differences(answer.lines, filled(step.lines, saved), at))
  }
  return faults
}

/** Removes what a scenario may have left behind. */
export async function cleared(server: Server): Promise<void> {
  const { body } = await played({ method: 'GET', path: PROBES, status: 200 }, server)
  for (const {
    metadata: { name },
  } of (body as { items: readonly { metadata: { name: string } }[] }).items) {
    await played(
      {
        method: 'PATCH',
        path: `${PROBES}/${name}`,
        contentType: MERGE,
        body: { metadata: { finalizers: null } },
        status: 200,
      },
      server,
    )
    await played({ method: 'DELETE', path: `${PROBES}/${name}`, status: 200 }, server)
  }
}

interface Played {
  readonly status: number
  readonly body: unknown
  readonly lines: readonly unknown[]
}

async function played(
  { method, path, contentType, accept, body, lines }: Exchange,
  { url, token, dispatcher }: Server,
): Promise<Played> {
  const abort = new AbortController()
  const response = await fetch(`${url}${path}`, {
    method,
    signal: abort.signal,
    ...(dispatcher !== undefined && { dispatcher }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: {
      authorization: `Bearer ${token}`,
      accept: accept ?? 'application/json',
      ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
    },
  })
  if (lines === undefined) {
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, lines: [] }
  }
  const come: unknown[] = []
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    come.push(
      ...parts
        .filter((part) => part !== '')
        .map((part) => JSON.parse(part) as { type: string })
        .filter(({ type }) => type !== 'BOOKMARK'),
    )
    if (come.length >= lines.length) break
  }
  abort.abort()
  return { status: response.status, body: null, lines: come }
}

/** Replaces `{{step.path.to.value}}` by the value. */
function filled(value: unknown, saved: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === 'string')
    return value.replaceAll(/\{\{(?<path>[^}]+)\}\}/g, (_, path: string) => {
      const [step = '', ...rest] = path.split('.')
      return String(
        rest.reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], saved.get(step)),
      )
    })
  if (Array.isArray(value)) return value.map((each) => filled(each, saved))
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, saved)]))
    : value
}

function differences(got: unknown, wanted: unknown, at: string): readonly string[] {
  if (wanted === ANY) return got === undefined || got === null || got === '' ? [`${at}: is missing`] : []
  if (wanted === ABSENT) return got === undefined || got === '' ? [] : [`${at}: is there: ${JSON.stringify(got)}`]
  if (Array.isArray(wanted)) {
    if (!Array.isArray(got) || got.length !== wanted.length)
      return [`${at}: is ${JSON.stringify(got)?.slice(0, 300)} instead of ${JSON.stringify(wanted)}`]
    return sorted(wanted).flatMap((each, index) => differences(sorted(got)[index], each, `${at}[${index}]`))
  }
  if (typeof wanted === 'object' && wanted !== null) {
    return Object.entries(wanted).flatMap(([name, each]) =>
      differences((got as Record<string, unknown> | undefined)?.[name], each, `${at}.${name}`),
    )
  }
  return got === wanted ? [] : [`${at}: is ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`]
}

/** Sorts lists that are maps by `type`. The events of a watch have an order of their own, and repeat their types. */
function sorted(items: readonly unknown[]): readonly unknown[] {
  const types = items.map((item) =>
    (item as { type?: unknown; object?: unknown } | null)?.object === undefined
      ? (item as { type?: unknown } | null)?.type
      : undefined,
  )
  return types.every((type) => typeof type === 'string')
    ? items.toSorted((a, b) => ((a as { type: string }).type < (b as { type: string }).type ? -1 : 1))
    : items
}
