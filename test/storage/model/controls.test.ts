/** Shows that the model suite detects every missing safeguard. The seed is fixed, so the result is reproducible. */
import { describe, expect, it } from '@jest/globals'
import { BROKEN, counted, memory } from './broken.ts'
import { search } from './run.ts'

const SEED = 2
/** Most safeguards need only a few hundred. */
const COMMANDS = 20_000
/** Safeguards that need more, because what they concern is rare among all commands. */
const MORE_COMMANDS: Readonly<Record<string, number>> = { 'the first outcome of a repeated ack': 60_000 }
const LONGEST_MS = 150_000

/** Every result that a call can return, except those that need thousands of items. */
const RESPONSES = [
  'submit queued',
  'submit duplicate',
  'submit queue_full',
  'reserve dropped',
  'reserve token',
  'reserve unknown',
  'reserve draining',
  'reserve stale',
  'ack ok',
  'ack lease_lost',
  'nack scheduled',
  'nack dead',
  'nack lease_lost',
  'release ok',
  'release lease_lost',
  'extend extended',
  'extend lease_lost',
  'sweep requeued',
  'sweep promoted',
  'sweep dead',
  'sweep forgottenKeys',
  'sweep more',
  'locate pending',
  'locate in_flight',
  'locate scheduled',
  'locate dead',
  'applyToDead replayed',
  'applyToDead removed',
  'applyToDead not_dead',
  'cancel cancelled',
  'cancel dead',
  'cancel finished',
  'cancel not_found',
  'groups pending',
  'groups inFlight',
  'groups nextStartAtMs',
  'pause untilMs',
  'resume true',
  'resume false',
  'register previous',
  'register drain',
  'register replaced',
  'register rules_changed',
  'beat ok',
  'beat drain',
  'beat replaced',
  'beat unknown',
  'drain draining',
  'drain not_found',
  'manage ok',
  'manage not_found',
  'put stored',
  'put conflict',
  'put not_found',
  'put exists',
  'put unchanged',
  'put unknown_revision',
  'put changed',
  'put updated',
  'putMany stored',
  'putMany conflict',
  'putMany not_found',
  'putMany unknown_revision',
  'raise raised',
  'raise not_found',
  'raise too_far',
  'push trimmed',
  'tail gap',
  'put created',
  'put replaced',
  'claim token',
  'remove true',
  'remove false',
  'remove lease_lost',
  'acquire token',
  'acquire held',
  'add out_of_range',
  'create created',
  'create exists',
  'update updated',
  'update conflict',
  'update not_found',
]

describe('model suite: controls', () => {
  it('finds no fault in a correct backend, and covers every result', async () => {
    const seen = new Set<string>()
    expect(await search({ create: counted(seen), seed: SEED, commands: COMMANDS, shrinks: false })).toMatchObject({
      failure: null,
    })
    expect(RESPONSES.filter((answer) => !seen.has(answer))).toEqual([])
  })

  for (const [safeguard, create] of Object.entries(BROKEN)) {
    it(
      `detects a backend without ${safeguard}`,
      async () => {
        const commands = MORE_COMMANDS[safeguard] ?? COMMANDS
        const { failure } = await search({ create, seed: SEED, commands, shrinks: false })
        expect(failure ?? '').toMatch(/^SEED=\d+ RUN_PATH=\d+ REPLAY_PATH=\S+ repeats this:/)
      },
      LONGEST_MS,
    )
  }

  it('reproduces a shrunk failure from the printed seed and path', async () => {
    const create = BROKEN['the limit of the queue'] ?? memory()
    const { failure } = await search({ create, seed: SEED, commands: COMMANDS, shrinks: true })
    const { seed, path, replayPath } =
      /SEED=(?<seed>\d+) RUN_PATH=(?<path>\S+) REPLAY_PATH=(?<replayPath>\S+) /.exec(failure ?? '')?.groups ?? {}
    const again = await search({
      create,
      seed: Number(seed),
      commands: 1,
      shrinks: false,
      path: path ?? '',
      replayPath: replayPath ?? '',
    })
    expect(again.failure).not.toBeNull()
    expect(again.commands).toBeLessThan(5)
  })
})
