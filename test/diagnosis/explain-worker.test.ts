import { describe, expect, it } from '@jest/globals'
import { explainNotApplied, explainWorker, explainWorkers, type WorkerFacts } from '../../src/diagnosis/index.ts'
import type { DepartureBody } from '../../src/protocol/index.ts'
import { NOW, worker, workerRuns } from './facts.ts'

const departure = (kind: DepartureBody['kind'], more: Partial<DepartureBody> = {}): DepartureBody => ({
  kind,
  at: NOW - 120,
  by: null,
  code: 4100,
  reason: '',
  ...more,
})

describe('explainWorker', () => {
  it.each<[string, Partial<WorkerFacts>, RegExp]>([
    ['offline', { connected: false, last_error: 'ECONNREFUSED' }, /^Offline for 2 min\. Check that/],
    ['offline a moment ago', { connected: false, state_since: NOW }, /^Offline for less than a second\. Check/],
    ['ended', { connected: false, ended: true }, /^Its process ended in an orderly way 2 min ago/],
    [
      'drained',
      { connected: false, ended: true, draining: true, departure: departure('drained', { by: 'ana' }) },
      /^Drained: it finished its work and exited 2 min ago\. The drain was requested by ana\. Start it again/,
    ],
    ['stopped', { connected: false, ended: true, departure: departure('stopped') }, /^Stopped: .* 2 min ago, without/],
    [
      'evicted',
      { connected: false, departure: departure('evicted', { reason: 'bad token' }) },
      /^Evicted 2 min ago: the master closed its connection\. Reason: bad token\. Check/,
    ],
    [
      'lost',
      { connected: false, departure: departure('lost', { code: 1006 }) },
      /^Lost 2 min ago: its connection ended without a close frame/,
    ],
    ['not enabled', { config: { enabled: false, slots: 1 } }, /^Not enabled/],
    ['zero slots', { config: { enabled: true, slots: 0 } }, /Scaled to zero/],
    ['draining', { state: 'DRAINING', draining: true }, /^Draining for 2 min/],
    ['behind', { applied_config_gen: 2 }, /^Config generation 3 is saved, 2 is applied. Saved 10 min ago/],
    ['nothing applied', { applied_config_gen: null }, /^Config generation 3 is not applied yet/],
    [
      'in ERROR',
      { state: 'ERROR', last_error: 'boom' },
      /^It fails every task it takes\. Its config changed 10 min ago\.$/,
    ],
    ['healthy', {}, /^No problems/],
    ['just saved', { applied_config_gen: 2, config_changed_at: NOW - 2 }, /^No problems/],
    ['ahead of a master that lost its state', { applied_config_gen: 9 }, /^Config generation 3 is saved, 9 is applied/],
  ])('returns the decisive cause first: %s', (_, part, text) => {
    expect(explainWorker(worker(part), NOW, null)[0]?.text).toMatch(text)
  })

  it('returns all causes, starting with the one that hides the others', () => {
    expect(
      explainWorker(
        worker({ connected: false, config: { enabled: false, slots: 0 }, applied_config_gen: 1 }),
        NOW,
        null,
      ).map(({ tone }) => tone),
    ).toEqual(['bad', 'warn', 'warn', 'warn'])
  })

  it('shows the runs of a worker that fails, what fixes it, and not the error that its page shows (D152)', () => {
    const runsOf = workerRuns({ config_changed: ['host'], last_error_runs: 300 })
    const [cause] = explainWorker(worker({ state: 'ERROR', last_error: 'boom' }), NOW, runsOf)
    expect(cause).toEqual({
      tone: 'bad',
      text:
        'It has failed every task since its config changed 10 min ago (host). ' +
        '30 runs failed in the last minute, none succeeded; 10 tasks died. All failed with the same error.',
      fixes: [
        { kind: 'edit_config', type: 'mailer', worker: 'w-1' },
        { kind: 'show_config_change', type: 'mailer', worker: 'w-1', generation: 3 },
        { kind: 'drain_worker', type: 'mailer', worker: 'w-1' },
        { kind: 'replay_dead', type: 'mailer' },
        { kind: 'show_log', type: 'mailer', worker: 'w-1' },
      ],
    })
  })

  it('says that a worker refuses its config, with a link to it', () => {
    expect(explainWorker(worker({ applied_config_gen: 2, refused_config_gen: 3 }), NOW, null)[0]).toEqual({
      tone: 'bad',
      text: 'The worker refuses config generation 3. Saved 10 min ago. Its log has the reason.',
      fixes: [
        { kind: 'edit_config', type: 'mailer', worker: 'w-1' },
        { kind: 'show_log', type: 'mailer', worker: 'w-1' },
      ],
    })
  })
})

describe('explainNotApplied', () => {
  const pending = { applied_config_gen: 2, config: { enabled: false, slots: 0 } }
  it.each<[string, Partial<WorkerFacts>, 'bad' | 'warn' | 'calm', RegExp]>([
    ['saved a moment ago', { config_changed_at: NOW - 2 }, 'calm', /^Saved 2 s ago\. The worker applies a config/],
    ['not confirmed', {}, 'warn', /^Saved 10 min ago\. .* has not confirmed generation 3: /],
    [
      'refused',
      { refused_config_gen: 3, last_error: 'boom' },
      'bad',
      /^The worker refuses config generation 3\. Saved .* ago\. Its log has the reason\.$/,
    ],
    ['refused without an error', { refused_config_gen: 3 }, 'bad', /^The worker refuses config generation 3\. Saved/],
    ['offline', { connected: false }, 'bad', /^Offline for 2 min\. .* It applies the config when it connects\.$/],
  ])('says only why the newest config is not applied: %s', (_, part, tone, text) => {
    const causes = explainNotApplied(worker({ ...pending, ...part }), NOW)
    expect(causes).toEqual([expect.objectContaining({ tone, text: expect.stringMatching(text) })])
  })
})

describe('explainWorkers', () => {
  it('lists the workers with a problem, the worst first, with their errors', () => {
    const workers = [
      worker(),
      worker({ worker_id: 'w-2', config: { enabled: false, slots: 1 } }),
      worker({ worker_id: 'w-3', connected: false, last_error: 'ECONNREFUSED' }),
    ]
    expect(explainWorkers('probe', workers, null, NOW).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^w-3: Offline for 2 min\..* Its last error: ECONNREFUSED\.$/),
      'w-2: Not enabled, so no slots run.',
    ])
    const many = Array.from({ length: 9 }, (_, n) => worker({ worker_id: `w-${n}`, connected: false }))
    expect(explainWorkers('probe', many, null, NOW).at(-1)?.text).toBe(
      '4 more workers have problems: w-5, w-6, w-7 and 1 more.',
    )
  })

  it('says that there are no problems, or no workers', () => {
    expect(explainWorkers('probe', [worker()], null, NOW)).toMatchObject([{ tone: 'good' }])
    expect(explainWorkers('probe', [], null, NOW)[0]?.text).toMatch(/^No worker of probe has registered/)
  })
})
