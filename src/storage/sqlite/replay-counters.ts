/**
 * @module storage/sqlite/replay-counters
 * ReplayCounters counts what became of the tasks of replays (D180).
 */
import type { ReplayCounts } from '../index.ts'
import type { Database, Statement } from './driver.ts'

export class ReplayCounters {
  readonly #open: Statement<[number, string]>
  readonly #done: Statement<[number, string]>
  readonly #died: Statement<[number, string]>
  readonly #get: Statement<[number, string], ReplayCounts>
  readonly #forget: Statement<[number, string]>

  constructor(db: Database) {
    this.#open = db.prepare('INSERT OR IGNORE INTO replay(type, id, done, died) VALUES (?, ?, 0, 0)')
    this.#done = db.prepare('UPDATE replay SET done = done + 1 WHERE type = ? AND id = ?')
    this.#died = db.prepare('UPDATE replay SET died = died + 1 WHERE type = ? AND id = ?')
    this.#get = db.prepare('SELECT done, died FROM replay WHERE type = ? AND id = ?')
    this.#forget = db.prepare('DELETE FROM replay WHERE type = ? AND id = ?')
  }

  /** Begins to count a replay; without effect if it is counted already. */
  open(type: number, replay: string): void {
    this.#open.run(type, replay)
  }

  /** @param replay Without effect for undefined, and for a replay that is not counted. */
  count(type: number, replay: string | undefined, what: keyof ReplayCounts): void {
    if (replay !== undefined) (what === 'done' ? this.#done : this.#died).run(type, replay)
  }

  get(type: number, replay: string): ReplayCounts | null {
    return this.#get.get(type, replay) ?? null
  }

  forget(type: number, replay: string): void {
    this.#forget.run(type, replay)
  }
}
