/** `muster workers` and `muster config`. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { register } from '../../client/fixture.ts'
import { cells, lines, muster, type Terminal } from './fixture.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder()
})

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const record = async (master: TestMaster, id: string): Promise<Record<string, unknown>> =>
  (await master.call('GET', `/api/v1/automations/mailer/workers/${id}`)).json as Record<string, unknown>
/** Reads the stored secret, which only the config poll of the worker returns. */
const polled = async (master: TestMaster, id: string): Promise<unknown> =>
  (
    (await master.call('GET', `/api/v1/automations/mailer/workers/${id}/config`, { token: TOKENS.worker })).json as {
      config: unknown
    }
  ).config
async function startMaster(...ids: string[]) {
  const master = await runMaster()
  for (const id of ids) await register(master, id)
  return {
    master,
    run: (words: string | readonly string[], terminal?: Terminal) => muster(master.url, words, terminal),
  }
}

describe('muster workers', () => {
  it('ls lists the workers of one type, or of all types of the token, and never truncates names', async () => {
    const long = `w-${'x'.repeat(200)}`
    const { master, run } = await startMaster('w1', long)
    await register(master, 'p1', 'probe', { labels: '{"tier":"spot","zone":"eu-1"}' })
    await master.backend.workers.beat([
      {
        type: 'mailer',
        id: 'w1',
        conn: 'gone/w1',
        state: { state: 'ERROR', gen: 0, lastError: 'no\u001b[31mroute\nsecond\u202eline' },
      },
    ])
    const [head, ...rows] = cells((await run('workers ls')).out)
    const heads = 'WORKER, STATE, CONNECTED, CONFIG, SLOTS, LAST SEEN, LABELS, MANAGED BY, LAST ERROR'
    expect(head).toEqual(heads.split(', '))
    expect(rows.map((row) => row.slice(0, 5))).toEqual([
      [`mailer/${long}`, 'IDLE', 'no', '0, applied none', '1'],
      ['mailer/w1', 'ERROR', 'no', '0', '1'],
      ['probe/p1', 'IDLE', 'no', '0, applied none', '1'],
    ])
    expect(rows[1]?.at(-1)).toBe('no [31mroute second line')
    expect(rows.map((row) => row[6])).toEqual(['-', '-', 'tier=spot,zone=eu-1'])
    expect(
      cells((await run('workers ls', { environment: { SVC_API_TOKEN: TOKENS.probe } })).out)
        .slice(1)
        .map(([name]) => name),
    ).toEqual(['probe/p1'])
    expect(cells((await run('workers ls mailer --state ERROR --connected no')).out)).toHaveLength(2)
    expect((await run('workers ls mailer --connected=yes -o json')).out).toBe('[]\n')
  })

  it('get -o json prints the unchanged response of the API, and -o yaml the same data', async () => {
    const { master, run } = await startMaster('w1')
    const answer = await record(master, 'w1')
    expect(JSON.parse((await run('workers get mailer/w1 -o json')).out)).toEqual(answer)
    expect(parse((await run('workers get mailer/w1 -o yaml')).out)).toEqual(answer)
    expect(cells((await run('workers get mailer/w1')).out)).toContainEqual(['last_error', '-'])
  })

  it('drain starts a drain, and --wait times out with exit code 6', async () => {
    const { master, run } = await startMaster('w1')
    expect(await run('workers drain mailer/w1 -o json')).toMatchObject({
      code: 0,
      out: '{\n  "worker_id": "w1",\n  "drain": "requested"\n}\n',
    })
    expect(await record(master, 'w1')).toMatchObject({ draining: true })
    // The worker has disconnected.
    expect(await run('workers drain mailer/w1 --wait')).toMatchObject({ code: 0, err: '' })
  })

  it('forget prompts for confirmation, and changes nothing without it', async () => {
    const { master, run } = await startMaster('w1')
    expect(await run('workers forget mailer/w1', { answer: false })).toMatchObject({
      code: 1,
      out: '',
      err: 'error: cancelled\ncause: you did not confirm; nothing was changed\n',
      questions: ['Delete the record and the config of mailer/w1?'],
    })
    expect(await record(master, 'w1')).toMatchObject({ worker_id: 'w1' })
    expect(await run('workers forget mailer/w1', { answer: true })).toMatchObject({
      code: 0,
      questions: ['Delete the record and the config of mailer/w1?'],
    })
    expect(await run('workers forget mailer/w1 --yes')).toMatchObject({ code: 3, questions: [] })
  })
})

describe('muster config', () => {
  it('set reads values by the schema, sends If-Match and the user name, and prints the new generation', async () => {
    const { master, run } = await startMaster('w1')
    const ran = await run(['config', 'set', 'mailer/w1', 'slots=2', 'enabled=true', 'host=7'])
    expect(ran).toMatchObject({ code: 0, err: 'the config of mailer/w1 is now at generation 1\n' })
    expect(await record(master, 'w1')).toMatchObject({
      config_gen: 1,
      config_changed_by: 'admin cli:ana',
      config: { slots: 2, enabled: true, host: '7' },
    })
    await run('config set mailer/w1 --unset host --unset slots')
    expect((await record(master, 'w1'))['config']).toEqual({
      enabled: true,
      slots: 1,
      max_attempts: 3,
      recycle_seconds: 0,
    })
  })

  it('set sends no request when nothing would change (D16)', async () => {
    const { master, run } = await startMaster('w1')
    expect(await run('config set mailer/w1 slots=1 enabled=false -o json')).toMatchObject({
      code: 0,
      err: 'no changes: the config of mailer/w1 stays at generation 0\n',
    })
    expect(await record(master, 'w1')).toMatchObject({ config_gen: 0 })
  })

  it('set reports every invalid field before it sends a change', async () => {
    const { run } = await startMaster('w1')
    const ran = await run('config set mailer/w1 slot=2 slots=two enabled hosts=x password=hunter2 --unset nothing')
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toContain('slot      is not a field of this config; did you mean slots?')
    expect(ran.err).toContain('slots     "two" is not JSON, and this field expects integer')
    expect(ran.err).toContain('enabled   is not FIELD=VALUE')
    expect(ran.err).toContain('hosts     is not a field of this config; did you mean host?')
    expect(ran.err).toContain(
      'password  is secret, and other users can read command lines; pass password=@FILE, or password=@- for stdin',
    )
    expect(ran.err).not.toContain('hunter2')
    expect(await run('config set mailer/w1 slots=9999')).toMatchObject({
      code: 1,
      err: expect.stringContaining('cause: /slots must be <= 1024'),
    })
  })

  it('set reads secrets from a file or stdin, and a masked value keeps the secret (D17)', async () => {
    const { master, run } = await startMaster('w1')
    expect((await run(`config set mailer/w1 password=@${file('secret', 'hunter2\n')}`)).code).toBe(0)
    expect(await polled(master, 'w1')).toMatchObject({ password: 'hunter2' })
    const shown = (await run('config get mailer/w1 -o yaml')).out
    expect(shown).toContain('password: "********"')
    expect(await run('config set mailer/w1 -f -', { stdin: shown.replace('slots: 1', 'slots: 5') })).toMatchObject({
      code: 0,
    })
    expect(await polled(master, 'w1')).toMatchObject({ password: 'hunter2', slots: 5 })
    expect((await run('config set mailer/w1 password=@-', { stdin: 'from stdin' })).code).toBe(0)
    expect(await polled(master, 'w1')).toMatchObject({ password: 'from stdin' })
  })

  it('set -f reads JSON and YAML, and reports a file that is neither', async () => {
    const { master, run } = await startMaster('w1')
    expect((await run(`config set mailer/w1 -f ${file('a.json', '{"slots": 3}')} enabled=true`)).code).toBe(0)
    expect((await run(`config set mailer/w1 -f ${file('b.yaml', 'host: h # a name\n')}`)).code).toBe(0)
    expect((await record(master, 'w1'))['config']).toMatchObject({ slots: 3, enabled: true, host: 'h' })
    for (const text of ['{"slots": ', '- 1', '', 'a: &x 1\nb: *x\n'])
      expect([text, (await run(`config set mailer/w1 -f ${file('c', text)}`)).code]).toEqual([text, 2])
  })

  it('set changes nothing when another client changed the config first, and names it, exit code 5', async () => {
    const { master, run } = await startMaster('w1')
    const overtaken = await run('config set mailer/w1 -f -', {
      stdin: async () => {
        await master.call('PATCH', '/api/v1/automations/mailer/workers/w1/config', {
          body: { slots: 4 },
          headers: { 'muster-actor': 'dashboard:bo' },
        })
        return 'slots: 5'
      },
    })
    expect(overtaken.code).toBe(5)
    expect(overtaken.err.split('\n')).toEqual([
      expect.stringMatching(/^error: the config of mailer\/w1 was not changed \(412, request \S+\)$/),
      expect.stringMatching(/^cause: generation 1 was saved \d+ s ago by admin dashboard:bo; your change .* on 0$/),
      expect.stringMatching(/^next: {2}run muster config get mailer\/w1, /),
      '',
    ])
    expect((await record(master, 'w1'))['config']).toMatchObject({ slots: 4 })
  })

  it('set --wait waits until the worker has applied the config, and times out with exit code 6', async () => {
    const { master, run } = await startMaster('w1')
    expect(await run('config set mailer/w1 slots=2 --wait --timeout 1')).toMatchObject({
      code: 6,
      err: expect.stringContaining('timed out after 1 s waiting for mailer/w1 to apply generation 1'),
    })
    const waiting = run('config set mailer/w1 slots=3 --wait')
    await master.backend.workers.beat([
      { type: 'mailer', id: 'w1', conn: 'gone/w1', state: { state: 'IDLE', gen: 2, lastError: null } },
    ])
    expect((await waiting).code).toBe(0)
  })

  it('set warns when another system manages the config', async () => {
    const { master, run } = await startMaster('w1')
    await master.backend.workers.manage([{ type: 'mailer', id: 'w1', managedBy: 'kubernetes:ns/w1' }])
    expect((await run('config set mailer/w1 slots=2')).err).toContain(
      'this config is managed by kubernetes:ns/w1, which may revert your change',
    )
  })

  it('get shows the current config, and history the past ones', async () => {
    const { run } = await startMaster('w1')
    await run('config set mailer/w1 slots=2')
    await run('config set mailer/w1 slots=3 enabled=true')
    expect(await run('config get mailer/w1')).toMatchObject({
      out: expect.stringContaining('slots            3'),
      err: expect.stringMatching(/^generation 2, applied none, saved \S+Z by admin cli:ana\n$/),
    })
    expect(
      cells((await run('config history mailer/w1')).out).map(([gen, , by, changed]) => [gen, by, changed]),
    ).toEqual([
      ['GENERATION', 'BY', 'CHANGED'],
      ['2', 'admin cli:ana', 'enabled, slots'],
      ['1', 'admin cli:ana', 'slots'],
    ])
    expect(lines((await run('config history mailer/w1 --limit 1')).out)).toHaveLength(2)
  })
})
