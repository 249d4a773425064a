import { describe, expect, it } from '@jest/globals'
import { AutomationError, defineBatch, defineContinuous, Type } from '../../../src/automation/index.ts'
import { runBatch, runContinuous } from '../../../src/automation/testing/index.ts'

const batch = defineBatch({
  type: 'thumbnail',
  config: Type.Object({ width: Type.Integer({ minimum: 16 }), mode: Type.Optional(Type.String()) }),
  payload: Type.Object({ url: Type.String() }),
  pools: { proxies: { payload: Type.Object({ host: Type.String() }) } },
  run: () => {},
})
const continuous = defineContinuous({ type: 'watcher', run: ({ sleep }) => sleep(1e9).catch(() => {}) })
const fine = { config: { width: 64 }, tasks: [{ payload: { url: 'a' } }] }
/** The functions as plain JavaScript calls them. */
const [anyBatch, anyContinuous] = [runBatch, runContinuous] as unknown as ((
  automation: unknown,
  options?: unknown,
) => Promise<unknown>)[]

describe('an invalid call of the harness', () => {
  it.each<[string, unknown, unknown, string]>([
    ['a function', () => {}, fine, 'runBatch:\n  usage: takes what defineBatch made, got a value of type function'],
    ['nothing', null, fine, 'runBatch:\n  usage: takes what defineBatch made, got null'],
    [
      'a module',
      { thumbnail: batch },
      fine,
      'runBatch:\n  usage: takes what defineBatch made, got an object that holds one, as "thumbnail": pass that',
    ],
    [
      'the other kind',
      continuous,
      fine,
      'runBatch of "watcher":\n' +
        '  usage: "watcher" is a continuous automation and runBatch runs batch ones; use runContinuous',
    ],
    ['no options', batch, undefined, 'runBatch of "thumbnail":\n  usage: tasks: must be an array of { payload }'],
    ['an unknown option', batch, { ...fine, task: 1 }, 'usage: task: is no option; known: tasks,'],
    [
      'an unknown name in allow',
      batch,
      { ...fine, allow: ['all'] },
      'usage: allow: "all" is not known; known: output, signal,',
    ],
    [
      'an invalid payload',
      batch,
      { ...fine, tasks: [{ payload: { url: 'a' } }, { payload: { url: 7 } }] },
      'usage: tasks[1]/payload/url: must be string',
    ],
    [
      'a task without payload',
      batch,
      { ...fine, tasks: [{ url: 'a' }] },
      'usage: tasks[0]/url: is no field of a task; known: id, payload, priority, maxAttempts',
    ],
    [
      'a task field out of range',
      batch,
      { ...fine, tasks: [{ payload: { url: 'a' }, maxAttempts: 0 }] },
      'usage: tasks[0]/maxAttempts: must be >= 1',
    ],
    [
      'two tasks with the same ID',
      batch,
      {
        ...fine,
        tasks: [
          { id: 'a', payload: { url: 'a' } },
          { id: 'a', payload: { url: 'a' } },
        ],
      },
      'usage: tasks[1]/id: "a" is another task\'s',
    ],
    ['an invalid config', batch, { ...fine, config: { width: 8, height: 1 } }, 'usage: config/width: must be >= 16'],
    ['a required field that is missing', batch, { ...fine, config: {} }, 'usage: config/width: is required'],
    [
      'an undeclared pool',
      batch,
      { ...fine, pools: { browsers: [] } },
      'usage: pools/browsers: thumbnail does not declare it; it declares: proxies',
    ],
    [
      'a pool item of another shape',
      batch,
      { ...fine, pools: { proxies: [{ payload: {} }] } },
      'usage: pools/proxies[0]/payload/host: is required',
    ],
    [
      'an invalid script',
      batch,
      { ...fine, script: { soon: () => {} } },
      'usage: script/soon: a script has functions by virtual seconds',
    ],
    [
      'no time',
      batch,
      { ...fine, maxVirtualSeconds: 0 },
      'usage: maxVirtualSeconds: must be a number of seconds above 0, got 0',
    ],
  ])('%s', async (_, automation, options, message) => {
    const error = await anyBatch?.(automation, options).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      name: 'RunError',
      faults: expect.arrayContaining([{ name: 'usage', message: expect.any(String) }]),
    })
    expect((error as Error).message).toContain(message)
  })

  it('names every invalid field', async () => {
    await expect(runBatch(batch, { ...fine, config: { width: 8, slots: -1 } })).rejects.toMatchObject({
      faults: [
        { message: expect.stringContaining('config/slots') },
        { message: expect.stringContaining('config/width') },
      ],
    })
  })

  it('is rejected by runContinuous too', async () => {
    await expect(anyContinuous?.(batch, { forSeconds: 1 })).rejects.toThrow(
      'runContinuous of "thumbnail":\n' +
        '  usage: "thumbnail" is a batch automation and runContinuous runs continuous ones; use runBatch',
    )
    await expect(anyContinuous?.(continuous)).rejects.toThrow(
      'forSeconds: must be a number of seconds above 0, got undefined',
    )
    await expect(runContinuous(continuous, { forSeconds: 5, script: { 6: () => {} } })).rejects.toThrow(
      'script/6: is after the end of the run (forSeconds 5)',
    )
  })

  it('is rejected in a script, awaited or not', async () => {
    await expect(runBatch(batch, { ...fine, script: { 3: (h) => void h.setConfig({ width: 1 }) } })).rejects.toThrow(
      'config/width: must be >= 16',
    )
    await expect(runBatch(batch, { ...fine, script: { 3: (h) => h.loseLease('task-1') } })).rejects.toThrow(
      'loseLease: no slot runs the task "task-1" at this moment',
    )
    await expect(
      runBatch(batch, {
        ...fine,
        script: {
          3: () => {
            throw new Error('expected 4')
          },
        },
      }),
    ).rejects.toThrow('expected 4')
  })

  it('reports invalid schemas as the catalog does', async () => {
    const broken = defineBatch({ type: 'broken', payload: { type: 'array' }, run: () => {} })
    await expect(runBatch(broken, { tasks: [] })).rejects.toThrow(AutomationError)
    await expect(runBatch(broken, { tasks: [] })).rejects.toThrow('automation "broken": /payload/type must be "object"')
  })
})
