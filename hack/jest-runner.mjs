// Runs test files as Jest does, and runs a file once more when its process died of a SIGSEGV. JavaScript cannot cause
// this signal. Node 24 itself crashes now and then while it collects VM contexts, of which Jest needs one for each file
// (nodejs/node#62393); seen once in about ten complete runs. The second run is announced, and its result counts. A test
// that fails, and a process that ends in any other way, is never run again.
// Used by Jest (package.json, "runner").
import { relative } from 'node:path'
import TestRunner from 'jest-runner'

const CRASH = /terminated by another process: signal=SIGSEGV/

export default class RerunAfterCrash extends TestRunner {
  #crashed = []

  async runTests(tests, watcher, options) {
    await super.runTests(tests, watcher, options)
    const again = this.#crashed
    this.#crashed = undefined
    if (again.length === 0 || watcher.isInterrupted()) return
    const files = again.map(({ path }) => relative(process.cwd(), path)).join(', ')
    console.error(`Node crashed with SIGSEGV in ${files}; running it once more`)
    await super.runTests(again, watcher, options)
  }

  on(event, listener) {
    if (event !== 'test-file-failure') return super.on(event, listener)
    return super.on(event, ([test, error]) => {
      if (this.#crashed === undefined || !CRASH.test(error.message)) return listener([test, error])
      this.#crashed.push(test)
    })
  }
}
