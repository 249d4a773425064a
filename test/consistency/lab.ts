/** Builds what the consistency tests need, and removes it after each test. */
import { afterEach, beforeAll, describe } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { buildJudge, judge, withGo, type Verdict } from './judge.ts'
import { Network, withNetwork } from './network.ts'

/** For one test, or for building the judge. */
export const TIMEOUT_MS = 1_800_000

export const IS_SOAK = process.env['SOAK'] === '1'
/** Draws other calls and faults. */
export const SEED = Number(process.env['CONSISTENCY_SEED'] ?? 1)

interface Closable {
  close(): unknown
}

export interface Lab {
  /** A network for this test. */
  readonly network: () => Network
  /** Closes this after the test, before what was opened earlier. */
  readonly open: <T extends Closable>(each: T) => T
  readonly judge: (histories: readonly string[]) => Promise<Verdict>
}

/** Defines tests that need Go and network namespaces. Where one is missing, it defines a named skip instead. */
export function describeLab(name: string, define: (lab: Lab) => void): void {
  withGo(name, () =>
    withNetwork(name, () =>
      describe(name, () => {
        const opened: Closable[] = []
        let program = ''
        beforeAll(() => void (program = buildJudge(temporaryFolder())), TIMEOUT_MS)
        afterEach(async () => {
          for (const each of opened.splice(0).toReversed()) await each.close()
        }, TIMEOUT_MS)
        const open = <T extends Closable>(each: T): T => {
          opened.push(each)
          return each
        }
        define({ open, network: () => open(new Network()), judge: (histories) => judge(program, histories) })
      }),
    ),
  )
}
