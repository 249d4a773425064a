// Runs test files as Jest does, and runs a file once more when Node itself crashed: when its process died of a SIGSEGV
// or of a SIGTRAP. JavaScript cannot cause these signals. Two faults of Node 24 do, each in one of many complete runs:
//   SIGSEGV  while it collects VM contexts, of which Jest needs one for each file (nodejs/node#62393)
//   SIGTRAP  `Check failed: jit_page.has_value()`, when it frees compiled calls from WebAssembly to JavaScript, which
//            each copy of undici has
// The second run is announced, and its result counts. A test that fails, and a process that ends in any other way, is
// never run again.
// Used by Jest (package.json, "runner").
import { relative } from 'node:path'
import TestRunner from 'jest-runner'

const CRASH = /terminated by another process: signal=(SIGSEGV|SIGTRAP)/

export default class RerunAfterCrash extends TestRunner {
  #crashed = []

  async runTests(tests, watcher, options) {
    await super.runTests(tests, watcher, options)
    const again = this.#crashed
    this.#crashed = undefined
    if (again.length === 0 || watcher.isInterrupted()) return
    const files = again.map(({ path }) => relative(process.cwd(), path)).join(', ')
    console.error(`Node crashed in ${files}; running it once more`)
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
