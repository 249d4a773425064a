import { describe, expect, it } from '@jest/globals'
import { CONFIG_HISTORY_ROWS, type HistoryBody, type JsonObject } from '../../../src/protocol/index.ts'
import { firstGeneration, KEPT_GENERATIONS } from '../../../src/dashboard/config/first-generation.ts'

const schema = {
  properties: {
    port: { type: 'integer', default: 465 },
    host: { type: 'string' },
    slots: { type: 'integer', default: 1 },
  },
}
const generation = (gen: number, changed: string[], config: JsonObject | null, more = {}): HistoryBody[number] => ({
  config_gen: gen,
  ts: 1_000 + gen,
  actor: 'admin dashboard:ana',
  changed,
  config,
  ...more,
})
const FREE = { managed_by: null }

describe('the config before the first stored generation', () => {
  it('is that of the oldest one, with the fields that it changed at their defaults', () => {
    const history = [
      generation(2, ['slots'], { port: 25, host: 'a', slots: 4 }),
      generation(1, ['port', 'host', 'gone'], { port: 25, host: 'a', slots: 1 }),
    ]
    expect(firstGeneration(FREE, history, schema)).toEqual({ kind: 'derived', gen: 0, config: { port: 465, slots: 1 } })
  })

  it('has the generation before the oldest one, of a worker that was forgotten and registered again', () => {
    expect(firstGeneration(FREE, [generation(8, ['port'], { port: 25 })], schema)).toMatchObject({ gen: 7 })
  })

  it('is not known if older generations are not stored any more', () => {
    const full = Array.from({ length: KEPT_GENERATIONS }, (_, n) => generation(60 - n, ['port'], { port: n }))
    expect(KEPT_GENERATIONS).toBe(CONFIG_HISTORY_ROWS)
    expect(firstGeneration(FREE, full, schema)).toMatchObject({
      kind: 'unknown',
      why: expect.stringContaining('keeps the last 50 generations'),
    })
    const exactly = full.map((each, n) => ({ ...each, config_gen: KEPT_GENERATIONS - n }))
    expect(firstGeneration(FREE, exactly, schema)).toMatchObject({ kind: 'derived', gen: 0 })
  })

  it.each([
    ['has a manager', { managed_by: 'kubernetes:mail/m-7' }, generation(1, ['port'], { port: 25 })],
    ['was changed with a revision', FREE, generation(1, ['port'], { port: 25 }, { revision: 'abc' })],
    ['has a config of a revision that is not stored any more', FREE, generation(1, ['port'], null)],
  ])('is not known of a worker that %s', (_, worker, oldest) => {
    expect(firstGeneration(worker, [oldest], schema)).toMatchObject({
      kind: 'unknown',
      why: expect.stringContaining('managed elsewhere'),
    })
  })
})
