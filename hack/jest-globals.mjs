// Replaces the package `@jest/globals`, which works only in Jest's own runtime.
// Used by jest-process.mjs, which sets the functions before it loads a test file.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } =
  globalThis[Symbol.for('jest-globals')]
