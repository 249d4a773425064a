/**
 * @module cmd/doctor/run-checks
 * Runs checks as soon as those that they need have ended, so that independent ones run at the same time, and reports
 * the findings in the order of the list.
 */
import { skip, type Check, type Finding, type Result } from './check.ts'
import type { Session } from './session.ts'

/**
 * Runs all checks.
 * @param checks Each stands behind those that it needs.
 * @param onResult Called in the order of the list, as soon as a finding and those before it are known.
 * @throws {TypeError} if a check needs one that does not stand before it.
 */
export async function runChecks(
  checks: readonly Check[],
  session: Session,
  onResult: (result: Result) => void,
): Promise<readonly Result[]> {
  const started = new Map<string, Promise<Finding>>()
  const startedOf = (name: string): Promise<Finding> => {
    const found = started.get(name)
    if (found === undefined) throw new TypeError(`the check ${name} is not before those that need it`)
    return found
  }
  for (const check of checks) {
    const needs = check.needs.map((name) => ({ name, finding: startedOf(name) }))
    const others = (check.after ?? []).map(startedOf)
    started.set(check.name, runOne(check, session, needs, others))
  }
  const results: Result[] = []
  for (const { name } of checks) {
    const result = { name, finding: await startedOf(name) }
    onResult(result)
    results.push(result)
  }
  return results
}

interface Need {
  readonly name: string
  readonly finding: Promise<Finding>
}

async function runOne(
  check: Check,
  session: Session,
  needs: readonly Need[],
  others: readonly Promise<Finding>[],
): Promise<Finding> {
  for (const { name, finding } of needs) {
    const { status, text } = await finding
    if (status === 'fail') return skip(`needs ${name}, which failed`)
    if (status === 'skip') return skip(text) // The first cause of both.
  }
  await Promise.all(others)
  try {
    return await check.run(session)
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error))
    return {
      status: 'fail',
      text: 'the check itself failed',
      cause: message,
      next: 'report this as a defect of Muster',
    }
  }
}
