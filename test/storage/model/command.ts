/** A model command: applies an operation to backend and model, then compares everything that can be read. */
import fc from 'fast-check'
import { compareReads } from './reads.ts'
import type { Real, ModelFixture } from './fixture.ts'

export type AnyCommand = fc.Arbitrary<fc.AsyncCommand<ModelFixture, Real>>
/** Return 'quiet' to skip the comparison, so that the next command is the first to observe the change. */
type Run<A> = (args: A, fixture: ModelFixture, real: Real) => Promise<void | 'quiet'>

class Command<A> implements fc.AsyncCommand<ModelFixture, Real> {
  readonly #name: string
  readonly #args: A
  readonly #run: Run<A>

  constructor(name: string, args: A, run: Run<A>) {
    this.#name = name
    this.#args = args
    this.#run = run
  }

  check = (): boolean => true

  async run(fixture: ModelFixture, real: Real): Promise<void> {
    if ((await this.#run(this.#args, fixture, real)) !== 'quiet') await compareReads(fixture, real)
  }

  toString(): string {
    return `${this.#name}(${fc.stringify(this.#args)})`
  }
}

export const command = <A>(name: string, args: fc.Arbitrary<A>, run: Run<A>): AnyCommand =>
  args.map((value) => new Command(name, value, run))
