/** `muster tasks`, `queue`, `dead`, `output`, `pools` and `automations`. */
import { describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, type Automation } from '../../../src/automation/index.ts'
import { FaultyProxy } from '../../client/faulty-proxy.ts'
import { emit, makeDead, register } from '../../client/fixture.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'
import { cells, lines, muster, type Terminal } from './fixture.ts'

const batchType = (type: string) =>
  defineBatch({ type, payload: {}, run: () => undefined, ...(type === 'grouped' && { groups: { maxInFlight: 1 } }) })

async function startMaster(automations?: readonly Automation[]) {
  const master = await runMaster(automations === undefined ? {} : { catalog: buildCatalog(automations) })
  return {
    master,
    run: (words: string | readonly string[], terminal?: Terminal) => muster(master.url, words, terminal),
  }
}
const ndjson = (text: string): unknown[] => lines(text).map((line) => JSON.parse(line) as unknown)

describe('muster tasks', () => {
  it('submit queues a task with the values of its options, and get finds it', async () => {
    const { run } = await startMaster()
    expect(
      await run([
        'tasks',
        'submit',
        'mailer',
        '--payload',
        '{"to":"a b"}',
        '--task-id',
        't1',
        '--priority',
        '-5',
        '--ttl-seconds',
        '60',
        '--max-attempts',
        '2',
        '--idempotency-key',
        'k',
        '-o',
        'json',
      ]),
    ).toMatchObject({ code: 0, out: '{\n  "task_id": "t1",\n  "queued": true,\n  "priority": -5\n}\n', err: '' })
    expect(
      cells((await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}', '--idempotency-key', 'k'])).out)[1],
    ).toEqual(['t1', 'no, a duplicate', '-'])
    expect(cells((await run('tasks get mailer t1')).out)).toEqual([
      ['TASK', 'PLACE'],
      ['t1', 'pending'],
    ])
    expect(await run('tasks submit mailer --payload @-', { stdin: '{"to":"stdin"}' })).toMatchObject({ code: 0 })
  })

  it('submit --retain keeps the result, and await prints it, with an exit code for each end (D110, D111)', async () => {
    const { master, run } = await startMaster()
    const submit = ['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}', '--retain', '60', '--task-id']
    await register(master, 'postman')
    const rpc = async (method: string, params: object): Promise<{ tasks: { task_id: string; token: number }[] }> => {
      const { json } = await master.call('POST', '/api/v1/automations/mailer/workers/postman/rpc', {
        token: TOKENS.worker,
        body: { jsonrpc: '2.0', id: 1, method, params },
      })
      return (json as { result: { tasks: { task_id: string; token: number }[] } }).result
    }
    expect(await run([...submit, 'a'])).toMatchObject({ code: 0 })
    const waiting = run('tasks await mailer a')
    const { tasks } = await rpc('tasks.reserve', { limit: 1 })
    await rpc('tasks.ack', { tasks: tasks.map(({ task_id, token }) => ({ task_id, token, result: { sent: true } })) })
    expect(await waiting).toMatchObject({ code: 0, out: '{"sent":true}\n', err: '' })
    expect(JSON.parse((await run('tasks await mailer a -o json')).out)).toMatchObject({ place: 'done' })
    const waited = run([...submit.slice(0, 5), '--wait'])
    const next = await rpc('tasks.reserve', { limit: 1, wait_ms: 10_000 })
    await rpc('tasks.ack', { tasks: next.tasks.map(({ task_id, token }) => ({ task_id, token, result: 'two' })) })
    expect(await waited).toMatchObject({
      code: 0,
      out: '"two"\n',
      err: expect.stringMatching(/^task "[0-9a-f]{32}" is queued; waiting for its end\n$/),
    })
    expect(
      await run('tasks submit mailer -f - --wait', { stdin: '{"payload":{"to":"a"}}\n{"payload":{"to":"b"}}\n' }),
    ).toMatchObject({ code: 2, err: expect.stringContaining('--wait') })
    await makeDead(master, ['d'])
    expect(await run('tasks await mailer d')).toMatchObject({ code: 1, out: 'dead: no such address: d\n' })
    expect(await run('tasks await mailer nowhere')).toMatchObject({ code: 3 })
    expect(await run([...submit, 'b'])).toMatchObject({ code: 0 })
    const over = await run('tasks await mailer b --timeout 1')
    expect([over.code, over.out]).toEqual([6, 'pending\n'])
    expect(over.err).toContain('task "b" has not finished')
  })

  it('find shows a task of any type by its id alone (D116)', async () => {
    const { run } = await startMaster()
    await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}', '--task-id', 't1'])
    const found = await run('tasks find t1')
    expect([found.code, cells(found.out)]).toEqual([
      0,
      [
        ['TYPE', 'TASK', 'PLACE'],
        ['mailer', 't1', 'pending'],
      ],
    ])
    expect(JSON.parse((await run('tasks find t1 -o json')).out)).toEqual([
      { automation_type: 'mailer', task_id: 't1', place: 'pending' },
    ])
    const unknown = await run('tasks find ghost -o json')
    expect([unknown.code, JSON.parse(unknown.out)]).toEqual([3, []])
    expect(await run('tasks find')).toMatchObject({ code: 2, err: expect.stringContaining('TASK') })
  })

  it('ls lists tasks by place, label and text, page by page (D116)', async () => {
    const { run } = await startMaster()
    await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"Ada"}', '--task-id', 't1', '--label', 'tenant=acme'])
    await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"Bob"}', '--task-id', 't2', '--delay', '60'])
    const all = await run('tasks ls mailer')
    expect(cells(all.out).map((row) => row.slice(0, 3))).toEqual([
      ['TASK', 'PLACE', 'ATTEMPT'],
      ['t1', 'pending', '0'],
      ['t2', 'scheduled', '0'],
    ])
    expect(all.err).toContain('2 listed, 2 examined')
    const listedIds = async (args: string): Promise<string[]> =>
      (await run(`tasks ls mailer ${args} -o json`)).out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { task_id: string }).task_id)
    expect(await listedIds('--place scheduled')).toEqual(['t2'])
    expect(await listedIds('--label tenant=acme')).toEqual(['t1'])
    expect(await listedIds('--text bOB')).toEqual(['t2'])
    const one = await run('tasks ls mailer -n 1')
    expect([cells(one.out).length, one.err]).toEqual([2, expect.stringContaining('there may be more')])
    expect(await run('tasks ls mailer --place gone')).toMatchObject({ code: 2 })
  })

  it('submit --unique-key queues no second task, or replaces the first one (D118)', async () => {
    const { run } = await startMaster()
    const submit = async (...more: string[]): Promise<string | undefined> => {
      const { out } = await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}', '--unique-key', 'k', ...more])
      return cells(out)[1]?.[1]
    }
    expect(await submit('--task-id', 'a')).toBe('yes')
    expect(await submit('--unique-until', 'finished')).toBe('no, a duplicate')
    expect(await submit('--on-conflict', 'replace')).toBe('yes, replaced a')
    expect(await run('tasks submit mailer --payload {} --on-conflict drop')).toMatchObject({ code: 2 })
  })

  it('submit --group sends the group, which a type without groups rejects with the way out (D119)', async () => {
    const { run } = await startMaster()
    expect(await run('tasks submit mailer --payload {"to":"a"} --group acme')).toMatchObject({
      code: 1,
      err: expect.stringContaining('add "groups" to the automation "mailer", or leave group_key out'),
    })
  })

  it('queue groups lists the groups of a type, or names that it has none (D119)', async () => {
    const { run } = await startMaster(['grouped', 'mailer'].map(batchType))
    const submit = (...more: string[]) => run(['tasks', 'submit', 'grouped', '--payload', '{}', ...more])
    for (const group of ['acme', 'acme', 'beta']) expect(await submit('--group', group)).toMatchObject({ code: 0 })
    await submit()
    expect(cells((await run('queue groups grouped')).out)).toEqual([
      ['GROUP', 'PENDING', 'IN FLIGHT', 'NEXT START'],
      ['acme', '2', '0', '-'],
      ['-', '1', '0', '-'],
      ['beta', '1', '0', '-'],
    ])
    const json = JSON.parse((await run('queue groups grouped -o json')).out) as unknown
    expect(json).toContainEqual({ group_key: 'acme', pending: 2, in_flight: 0 })
    expect(await run('queue groups mailer')).toMatchObject({ code: 0, err: expect.stringContaining('has no groups') })
  })

  it('submit --delay and --not-before schedule a task (D104)', async () => {
    const { run } = await startMaster()
    const submit = ['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}', '--task-id']
    expect(await run([...submit, 'd', '--delay', '90.5'])).toMatchObject({ code: 0 })
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    expect(await run([...submit, 'n', '--not-before', tomorrow])).toMatchObject({ code: 0 })
    expect(await run([...submit, 'past', '--not-before', '1700000000.5'])).toMatchObject({ code: 0 })
    for (const [id, place] of [
      ['d', 'scheduled'],
      ['n', 'scheduled'],
      ['past', 'pending'],
    ] as const)
      expect(cells((await run(`tasks get mailer ${id}`)).out)[1]).toEqual([id, place])
    expect(await run([...submit, 'x', '--delay', '1', '--not-before', '1'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--delay'),
    })
    expect(await run([...submit, 'x', '--not-before', 'tomorrow'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('2030-01-31T08:00:00Z'),
    })
  })

  it('cancel cancels tasks by id or by the lines of a file, and exits with 3 if one was not (D109)', async () => {
    const { master, run } = await startMaster()
    await makeDead(master, ['dead'])
    const tasks = ['a', 'b', 'c', 'd'].map((id) => JSON.stringify({ task_id: id, payload: { to: 'a' } }))
    await run('tasks submit mailer -f -', { stdin: tasks.join('\n') })
    expect(await run('tasks cancel mailer a')).toMatchObject({ code: 0 })
    const many = await run('tasks cancel mailer -f - --yes', { stdin: 'b\r\n\nc\n' })
    expect([many.code, cells(many.out)]).toEqual([
      0,
      [
        ['TASK', 'OUTCOME'],
        ['b', 'cancelled'],
        ['c', 'cancelled'],
      ],
    ])
    const mixed = await run('tasks cancel mailer d dead a --yes -o json')
    expect([mixed.code, JSON.parse(mixed.out)]).toEqual([
      3,
      {
        results: [
          { task_id: 'd', outcome: 'cancelled' },
          { task_id: 'dead', outcome: 'dead' },
          { task_id: 'a', outcome: 'not_found' },
        ],
      },
    ])
    expect((await master.backend.tasks.queue('mailer', 1)).length).toBe(0)
    for (const words of ['tasks cancel mailer', 'tasks cancel mailer a -f ids.txt'])
      expect(await run(words)).toMatchObject({ code: 2, err: expect.stringContaining('either task IDs or -f FILE') })
    expect(await run('tasks cancel mailer -f -', { stdin: '\n' })).toMatchObject({
      code: 2,
      err: expect.stringContaining('contains no task ID'),
    })
  })

  it('submit --label labels a task (D113)', async () => {
    const { run } = await startMaster()
    const submit = ['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}']
    expect(await run([...submit, '--label', 'tenant=acme', '--label', 'note=a=b', '--label', 'x='])).toMatchObject({
      code: 0,
    })
    expect(JSON.parse((await run('queue ls mailer -o json')).out)).toMatchObject({
      items: [{ labels: { tenant: 'acme', note: 'a=b', x: '' } }],
    })
    expect(await run([...submit, '--label', 'tenant'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('"tenant" is not KEY=VALUE; for example tenant=acme'),
    })
    expect(await run([...submit, '--label', 'Tenant=acme'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('/labels'),
    })
  })

  it('submit -f reads a body, or one per line, sends 1,000 per request, exits with 1 if one failed (D38)', async () => {
    const { master, run } = await startMaster()
    expect(
      await run('tasks submit mailer -f - --priority 1 -o json', {
        stdin: '{\n "task_id": "one",\n "payload": {"to": "a"}\n}',
      }),
    ).toMatchObject({ code: 0, out: expect.stringContaining('"priority": 1') })
    const bodies = Array.from({ length: 2_500 }, (_, at) =>
      JSON.stringify({ task_id: `t${at}`, payload: { to: at === 1_700 ? 7 : 'a' } }),
    )
    const ran = await run('tasks submit mailer -f - -o json', { stdin: `${bodies.join('\n')}\n` })
    expect(ran).toMatchObject({ code: 1, err: '2499 of 2500 tasks accepted, 1 rejected\n' })
    const results = ndjson(ran.out)
    expect(results).toHaveLength(2_500)
    expect([results[0], results[1_700]]).toMatchObject([{ task_id: 't0', queued: true }, { error: { status: 422 } }])
    expect((await master.backend.tasks.queue('mailer', 1)).length).toBe(2_500)
  })

  it('submit and print numbers unchanged that a double cannot represent (D75)', async () => {
    const { run } = await startMaster()
    const id = '9007199254740993'
    await run(['tasks', 'submit', 'mailer', '--payload', `{"to":"a","id":${id}}`])
    await run('tasks submit mailer -f -', {
      stdin: `{"payload":{"to":"b","id":${id}}}\n{"payload":{"to":"c","id":${id}}}`,
    })
    expect((await run('queue ls mailer -o json')).out.split(`"id": ${id}`)).toHaveLength(4)
    expect((await run('queue ls mailer -o yaml')).out.split(`id: ${id}`)).toHaveLength(4)
    expect((await run('queue ls mailer')).out).toContain(`"id":${id}`)
  })

  it('submit -f keeps each request below the maximum body size', async () => {
    const master = await runMaster({
      settings: {
        submitRpsPerToken: 0,
        idempotencyTtlSeconds: 3_600,
        maxBodyBytes: 1_048_576,
        maxLostLeases: 10,
        maxQueueLength: 10_000,
        maxSockets: 1_000,
      },
    })
    const bodies = Array.from({ length: 40 }, () => JSON.stringify({ payload: { to: 'é'.repeat(30_000) } }))
    expect(await muster(master.url, 'tasks submit mailer -f -', { stdin: bodies.join('\n') })).toMatchObject({
      code: 0,
      err: '40 of 40 tasks accepted\n',
    })
  })

  it('submit -f reports the invalid lines and submits nothing', async () => {
    const { master, run } = await startMaster()
    for (const [stdin, words] of [
      ['{"payload":{}}\n[1]\nx', 'line 2 of - is not a JSON object'],
      ['{"to":"a"}', 'task 1 has no payload'],
      ['', '- is empty'],
    ] as const) {
      expect(await run('tasks submit mailer -f -', { stdin })).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining(words),
      })
    }
    expect(
      await run('tasks submit mailer -f - --task-id x', { stdin: '{"payload":{}}\n{"payload":{}}' }),
    ).toMatchObject({ code: 2, err: expect.stringContaining('cannot apply to 2 tasks') })
    expect((await master.backend.tasks.queue('mailer', 1)).length).toBe(0)
  })
})

describe('muster queue and muster dead', () => {
  it('ls list pending tasks, and dead tasks with the oldest first', async () => {
    const { master, run } = await startMaster()
    await makeDead(master, ['a', 'b'])
    await run(['tasks', 'submit', 'mailer', '--payload', JSON.stringify({ to: 'x'.repeat(200) }), '--task-id', 'waits'])
    const queue = await run('queue ls mailer')
    expect(queue.err).toBe('1 of 1\n')
    expect(cells(queue.out)[1]?.slice(0, 3)).toEqual(['waits', '0', '0'])
    expect(lines(queue.out)[1]).toMatch(/x…$/)
    expect(JSON.parse((await run('queue ls mailer -n 1 -o json')).out)).toMatchObject({
      length: 1,
      items: [{ id: 'waits' }],
    })
    const dead = await run('dead ls mailer -n 1')
    expect(dead.err).toBe('1 of 2\n')
    expect(cells(dead.out)[1]).toEqual([
      'a',
      expect.stringMatching(/^\d+\/3$/),
      expect.stringMatching(/Z$/),
      'no such address: a',
      '{"to":"a"}',
    ])
  })

  it('pause and resume a queue, and ls shows the pause (D106)', async () => {
    const { run } = await startMaster()
    await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}'])
    expect((await run('queue ls mailer')).err).toBe('1 of 1\n')
    const until = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 3_600_000).toISOString().replace('.000', '')
    const paused = await run(['queue', 'pause', 'mailer', '--note', 'mail server is down', '--until', until])
    expect(paused.code).toBe(0)
    const [head, row] = cells(paused.out)
    expect(head).toEqual(['PAUSED BY', 'SINCE', 'UNTIL', 'NOTE'])
    expect(row).toEqual([expect.stringMatching(/^admin cli:/), expect.any(String), until, 'mail server is down'])
    const { err, out } = await run('queue ls mailer')
    expect(err).toMatch(/^1 of 1\npaused by admin cli:.* since \S+Z until \S+Z: mail server is down\n$/)
    expect(out).not.toContain('paused')
    expect(JSON.parse((await run('queue ls mailer -o json')).out)).toMatchObject({
      paused: { note: 'mail server is down', until: Date.parse(until) / 1_000 },
    })
    const { out: shorter } = await run('queue pause mailer --for 30m -o json')
    const { since, until: end, note } = JSON.parse(shorter).paused
    expect([note, since < end, end - Date.now() / 1_000 < 1_801]).toEqual([null, true, true])
    expect(cells((await run('queue pause mailer')).out)[1]?.[2]).toBe('-')
    expect(await run('queue resume mailer -o json')).toMatchObject({ code: 0, out: '{\n  "paused": null\n}\n' })
    expect(cells((await run('queue resume mailer')).out)).toEqual([['PAUSED'], ['no']])
    expect((await run('queue ls mailer')).err).toBe('1 of 1\n')
  })

  it('history shows rates, gauges and times by steps (D166)', async () => {
    const { run } = await startMaster()
    await run(['tasks', 'submit', 'mailer', '--payload', '{"to":"a"}'])
    const { code, out, err } = await run('queue history mailer')
    expect([code, err]).toEqual([0, 'steps of 15 s\n'])
    const [head, row] = cells(out)
    expect(head?.slice(0, 7)).toEqual(['FROM', 'IN/MIN', 'DONE/MIN', 'FAILED/MIN', 'DIED/MIN', 'WAITING', 'OLDEST S'])
    expect(row?.slice(0, 2)).toEqual([expect.stringMatching(/^\d{4}-.*Z$/), '-'])
    expect(JSON.parse((await run('queue history mailer --last 7d --step 1h -o json')).out)).toMatchObject({
      step: 3_600,
    })
    const wrong = await run('queue history mailer --last 1d --step 15s')
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('at most 1000 are returned')])
  })

  it('pause rejects a wrong time', async () => {
    const { run } = await startMaster()
    expect(await run('queue pause mailer --for 30m --until 1')).toMatchObject({
      code: 2,
      err: expect.stringContaining('pass only one of them'),
    })
    expect(await run('queue pause mailer --for 30')).toMatchObject({ code: 2, err: expect.stringContaining('30m') })
    expect(await run('queue pause mailer --until 1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('must be in the future'),
    })
  })

  it('replay and clear prompt for confirmation, and print how many tasks they changed', async () => {
    const { master, run } = await startMaster()
    await makeDead(master, ['a', 'b', 'c'])
    expect(await run('dead replay mailer -n 1', { answer: false })).toMatchObject({
      code: 1,
      questions: ['Replay the oldest 1 dead tasks of mailer?'],
    })
    expect(await run('dead replay mailer -n 1 --yes -o json')).toMatchObject({
      code: 0,
      out: '{\n  "replayed": 1\n}\n',
    })
    expect(await run('dead remove mailer', { answer: true })).toMatchObject({ code: 0, out: 'REMOVED\n2\n' })
  })

  it('change only the tasks of --task-id, exit code 3 when one was not dead (D50)', async () => {
    const answer = (outcome: string) => ({
      status: 200,
      headers: { 'content-type': 'application/json', 'muster-epoch': 'e' },
      body: JSON.stringify({ results: [{ task_id: 'a', outcome }] }),
    })
    const proxy = await FaultyProxy.start('http://127.0.0.1:9', answer('replayed'), answer('not_dead'))
    expect(await muster(proxy.url, 'dead replay mailer --task-id a')).toMatchObject({
      code: 0,
      out: 'TASK  OUTCOME\na     replayed\n',
    })
    expect(await muster(proxy.url, 'dead remove mailer --task-id a --yes')).toMatchObject({
      code: 3,
      out: 'TASK  OUTCOME\na     not_dead\n',
    })
    expect(proxy.seen.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { action: 'replay', task_ids: ['a'] },
      { action: 'remove', task_ids: ['a'] },
    ])
    await proxy.stop()
  })
})

describe('muster output', () => {
  it('peek and pop print one entry per line, pop after confirmation', async () => {
    const { master, run } = await startMaster()
    await emit(master, [1, 2, 3])
    expect(ndjson((await run('output peek mailer -n 2')).out)).toMatchObject([
      { slot_id: 1, payload: { sent: true } },
      { slot_id: 2 },
    ])
    expect(await run('output pop mailer', { answer: false })).toMatchObject({ code: 1, out: '' })
    expect(ndjson((await run('output pop mailer -n 2 --yes')).out)).toHaveLength(2)
    expect(cells((await run('output peek mailer -o table')).out)[1]?.slice(2)).toEqual(['3', '{"sent":true}'])
    await run('output pop mailer --yes')
    expect(await run('output peek mailer')).toMatchObject({ code: 0, out: '' })
  })

  it('tail --no-follow ends, and tail follows until its reader closes the pipe', async () => {
    const { master, run } = await startMaster()
    await emit(master, [1, 2])
    expect(ndjson((await run('output tail mailer -n 1 --no-follow')).out)).toMatchObject([{ slot_id: 2 }])
    const reader = new AbortController()
    const followed = await run('output tail mailer -f -n 1', {
      unread: reader.signal,
      onOut: (out) => (lines(out).length === 1 ? void emit(master, [3]) : reader.abort()),
    })
    expect([followed.code, ndjson(followed.out)]).toMatchObject([0, [{ slot_id: 2 }, { slot_id: 3 }]])
  })

  it('escapes terminal control sequences in every output format', async () => {
    const { master, run } = await startMaster()
    await master.backend.streams.push('mailer', 'test', 1, [
      JSON.stringify({ slot_id: 1, ts: 1, payload: { text: '\u001b[2J\u009b2J\u0007' } }),
    ])
    for (const format of ['json', 'yaml', 'table']) {
      const { out } = await run(`output peek mailer -o ${format}`)
      expect([format, out.replaceAll('\n', '')]).toEqual([format, expect.not.stringMatching(/\p{Cc}/u)])
    }
    expect(ndjson((await run('output peek mailer')).out)).toMatchObject([
      { payload: { text: '\u001b[2J\u009b2J\u0007' } },
    ])
  })
})

describe('muster pools and muster automations', () => {
  it('list installed automations, pools and the items of a pool', async () => {
    const { master, run } = await startMaster()
    expect(cells((await run('automations ls')).out).map(([type]) => type)).toEqual(['TYPE', 'mailer', 'probe'])
    expect(cells((await run('automations ls mailer')).out)).toContainEqual([
      'slots',
      'integer',
      '1',
      'Concurrent slots; 0 = scaled to zero.',
    ])
    await master.backend.pools.put('accounts', [
      { id: 'i1', tags: '{"region":"eu"}', payload: '{"user":"ada"}', expiresAtMs: null },
    ])
    expect(cells((await run('pools ls')).out)).toEqual([
      ['POOL', 'AUTOMATION', 'SIZE'],
      ['accounts', 'mailer', '1'],
    ])
    const items = await run('pools ls accounts')
    expect([cells(items.out)[1], items.err]).toEqual([
      ['i1', '{"region":"eu"}', '-', '-', '{"user":"ada"}'],
      '1 of 1\n',
    ])
  })
})
