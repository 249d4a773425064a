/** `muster workers logs` (D181). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import { connectOther, masterOf, runTask, stopWorkers, work } from '../../master/worker-logs/fixture.ts'
import { cells, lines, muster } from './fixture.ts'

afterEach(stopWorkers)

describe('muster workers logs', () => {
  it('prints the newest entries as a table or as JSON, by task, level and age', async () => {
    const master = await masterOf()
    await work(master, 'w1')
    const id = await runTask(master, [
      { message: 'resized', fields: { ms: 17 } },
      { level: 'warn', message: 'slow \u001b[31m\u202e', fields: { url: 'x'.repeat(200) } },
    ])
    const [head, first, second] = cells((await muster(master.url, `workers logs mailer/w1 --task ${id}`)).out)
    expect(head).toEqual(['TIME', 'LEVEL', 'SLOT', 'TASK', 'MESSAGE'])
    expect(first).toEqual([expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/), 'info', '0', id, 'resized ms=17'])
    expect(second?.slice(4)).toEqual(
      ['slow', '[31m', `url=${'x'.repeat(79)}…`].map((text) => expect.stringContaining(text)),
    )
    const json = await muster(master.url, `workers logs mailer/w1 --level warn --since 1h -o json`)
    expect(lines(json.out).map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ task_id: id, level: 'warn', fields: { url: 'x'.repeat(200) } }),
    ])
    expect(lines((await muster(master.url, 'workers logs mailer/w1 -n 1 -o json')).out)).toHaveLength(1)
  })

  it('follows new entries until the output is closed', async () => {
    const master = await masterOf()
    await work(master, 'w1')
    const unread = new AbortController()
    let out = ''
    const following = muster(master.url, 'workers logs mailer/w1 -n 1 --follow', {
      unread: unread.signal,
      onOut: (text) => (out = text),
    })
    await eventually(() => out !== '')
    await runTask(master, [{ message: 'a new line' }])
    await eventually(() => out.includes('a new line'))
    unread.abort()
    expect((await following).code).toBe(0)
    expect(out.split('a new line')).toHaveLength(2)
  })

  it('says that the worker is offline, or has to be upgraded, exit code 3', async () => {
    const master = await masterOf()
    const old = await connectOther(master, 'old', { 'muster-version': '0.1.0' })
    expect(await muster(master.url, 'workers logs mailer/old')).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringContaining('runs version 0.1.0, which cannot show its log; upgrade the worker'),
    })
    old.close()
    await eventually(async () => (await muster(master.url, 'workers logs mailer/old')).err.includes('is offline'))
    expect((await muster(master.url, 'workers logs mailer/old --level trace')).code).toBe(2)
  })
})
