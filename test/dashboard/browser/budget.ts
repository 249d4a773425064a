/**
 * @module test/dashboard/browser/budget
 * Measures the budgets of the page: durations by the page's clock, long tasks by a trace of its main thread, memory
 * after a garbage collection. Other work on the machine makes every duration several times longer. It also increases
 * the CPU time of a task, because both share caches and cores: 64 ms beside a full test run, 35 ms alone. So both
 * limits have a slack factor, which is 1 with BUDGET_SLACK=1.
 *
 *   BUDGET_SECONDS   how long a page is measured
 */
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { SLACK } from '../../kit/index.ts'

/** Slack factor for the CPU time of one task. */
const OWN_SLACK = SLACK === 1 ? 1 : 2
/** Slack factor for the longest of many durations, which usually coincides with other work on the machine. */
export const WORST_SLACK = SLACK === 1 ? 1 : SLACK * 3
export const SECONDS = Number(process.env['BUDGET_SECONDS'] ?? 10)

const table: (readonly [what: string, is: string, limit: string])[] = []

/** Records the value for the table at the end and asserts its limit. */
export function within(what: string, is: number, limit: number, unit: string): void {
  table.push([what, `${Math.round(is * 10) / 10} ${unit}`, `${limit} ${unit}`])
  expect([what, is <= limit, `${is} ${unit}`]).toEqual([what, true, `${is} ${unit}`])
}

export function printTable(): void {
  console.info(table.map(([what, is, limit]) => `${what.padEnd(62)} ${is.padStart(12)}   limit ${limit}`).join('\n'))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Infinity
}

export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Infinity

export async function heapMegabytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1_048_576
}

/** Memory of the page after a garbage collection: heap megabytes, listeners and DOM nodes. */
export async function heldBy(
  page: Page,
): Promise<{ readonly heap: number; readonly listeners: number; readonly nodes: number }> {
  const heap = await heapMegabytes(page)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const { metrics } = await session.send('Performance.getMetrics')
  await session.detach()
  const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Infinity
  return { heap, listeners: of('JSEventListeners'), nodes: of('Nodes') }
}

/** One task of the page's main thread, in milliseconds. */
export interface Task {
  /** Wall-clock duration. */
  readonly spanMs: number
  /** CPU time of the thread. */
  readonly ownMs: number
}

interface TraceEvent {
  readonly ph: string
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

const isTask = ({ ph, name }: TraceEvent): boolean => ph === 'X' && name === 'ThreadControllerImpl::RunTask'
const isMain = ({ ph, name, args }: TraceEvent): boolean =>
  ph === 'M' && name === 'thread_name' && args.name === 'CrRendererMain'
const threadOf = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`

/** Traces every task of the page's main thread while `act` runs. */
export async function tasksDuring(page: Page, act: () => Promise<void>): Promise<readonly Task[]> {
  const session = await page.context().newCDPSession(page)
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) =>
    events.push(...(value as unknown as TraceEvent[]).filter((event) => isTask(event) || isMain(event))),
  )
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel'] },
  })
  await act()
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  await ended
  await session.detach()
  return tasksOf(events)
}

/** Uses the renderer with the most work, because another page may be open. */
function tasksOf(events: readonly TraceEvent[]): readonly Task[] {
  const mains = new Set(events.filter(isMain).map(threadOf))
  const byThread = [...mains].map((main) => events.filter((event) => isTask(event) && threadOf(event) === main))
  const [most = []] = byThread.toSorted((a, b) => b.length - a.length)
  return most.map(({ dur = 0, tdur = 0 }) => ({ spanMs: dur / 1_000, ownMs: tdur / 1_000 }))
}

/** Asserts that no task used more than 50 ms of CPU time or lasted longer than that, each with its slack factor. */
export function withoutLongTasks(when: string, tasks: readonly Task[]): void {
  expect([when, tasks.some(({ ownMs }) => ownMs > 1)]).toEqual([when, true]) // Otherwise the trace has missed the page.
  within(`longest task ${when}, its own work`, Math.max(...tasks.map(({ ownMs }) => ownMs)), 50 * OWN_SLACK, 'ms')
  within(`longest task ${when}, as a span`, Math.max(...tasks.map(({ spanMs }) => spanMs)), 50 * WORST_SLACK, 'ms')
}
