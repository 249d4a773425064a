import { SCRIPT_FILES } from '../../../src/storage/redis/script-files.ts'
import { defineScript, type Script } from '../../../src/storage/redis/script.ts'

/** A script for a test. `text` is a Lua file; it may include the files of the backend. */
export const scriptOfText = (name: string, text: string): Script =>
  defineScript(name, { ...SCRIPT_FILES, [`${name}.lua`]: text })
