import { describe, expect, it } from '@jest/globals'
import { HistoryWindows } from './windows.ts'

const QUIET_NS = 61e9
const LATE_NS = 600e9

class Fixture {
  readonly violations: string[] = []
  readonly windows = new HistoryWindows((violation) => this.violations.push(violation))
  #nowNs = 0

  tick(): number {
    this.#nowNs += 1
    return this.#nowNs
  }

  /** Opens a window and submits tasks to it. */
  submit(...ids: readonly string[]): void {
    const window = this.windows.open(this.tick())
    const start = this.tick()
    const tasks = ids.map((id) => ({ id, key: null }))
    this.windows.submitted(
      window,
      { operation: 'submit', client: 'c', start, end: this.tick(), args: { tasks }, result: ids },
      this.#nowNs,
    )
  }

  reserve(id: string, token: number): void {
    const call = { operation: 'reserve', client: 'c', start: this.tick(), end: this.tick() } as const
    this.windows.leases(call, [{ id, token }], [], this.#nowNs)
  }

  ack(id: string, token: number, result: 'ok' | 'unknown' = 'ok'): void {
    const call = { operation: 'ack', client: 'c', start: this.tick(), end: this.tick() } as const
    this.windows.leases(call, [{ id, token }], result === 'unknown' ? undefined : [result], this.#nowNs)
  }

  /** Completes the newest window, and lets time pass. */
  pass(ns: number): readonly string[] {
    this.windows.open(this.tick())
    this.#nowNs += ns
    return this.windows.sweep(this.#nowNs, LATE_NS)
  }
}

describe('the windows of a history', () => {
  it('checks and drops a window when all its tasks are acked', () => {
    const fixture = new Fixture()
    fixture.submit('w0.1', 'w0.2')
    fixture.reserve('w0.1', 1)
    fixture.ack('w0.1', 1)
    expect(fixture.pass(QUIET_NS)).toEqual([])
    expect([fixture.windows.openWindows, fixture.windows.checkedTasks]).toEqual([2, 0])
    fixture.reserve('w0.2', 2)
    fixture.ack('w0.2', 2)
    fixture.pass(QUIET_NS)
    expect(fixture.windows.checkedTasks).toBe(2)
    expect(fixture.violations).toEqual([])
  })

  it('finds a delivery after the ack, before and after the window was checked (G2)', () => {
    const fixture = new Fixture()
    fixture.submit('w0.1')
    fixture.reserve('w0.1', 1)
    fixture.ack('w0.1', 1)
    fixture.reserve('w0.1', 2)
    fixture.pass(QUIET_NS)
    expect(fixture.violations).toContain('w0.1 was delivered after its ack')
    fixture.reserve('w0.1', 3)
    expect(fixture.violations.at(-1)).toBe('w0.1: delivered after its ack')
  })

  it('finds a lost task, but not one whose ack is unknown (G1)', () => {
    const fixture = new Fixture()
    fixture.submit('w0.1', 'w0.2')
    fixture.reserve('w0.2', 1)
    fixture.ack('w0.2', 1, 'unknown')
    expect(fixture.pass(LATE_NS + 1)).toEqual(['w0.1', 'w0.2'])
    fixture.windows.located(['w0.1', 'w0.2'], [null, null], fixture.tick(), fixture.tick())
    fixture.pass(QUIET_NS)
    expect(fixture.violations).toEqual(['w0.1 was submitted and is lost'])
  })

  it('finds a token that was issued twice (G5)', () => {
    const fixture = new Fixture()
    fixture.submit('w0.1', 'w0.2')
    fixture.reserve('w0.1', 7)
    fixture.reserve('w0.2', 7)
    fixture.ack('w0.1', 7)
    fixture.ack('w0.2', 7)
    fixture.pass(QUIET_NS)
    expect(fixture.violations).toContain('token 7 was issued twice')
  })
})
