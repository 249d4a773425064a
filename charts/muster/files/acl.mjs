// Writes the users of the embedded Redis: one, known by the hashes of its passwords, with what the master calls.
// Usage: node acl.mjs FOLDER FILE    FOLDER holds `password` and, during a rotation, `previous-password`.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, file] = process.argv.slice(2)
const passwords = ['password', 'previous-password'].map((name) => join(folder, name)).filter((path) => existsSync(path)).map((path) => readFileSync(path, 'utf8').trim())
const hashes = passwords.filter((each) => each !== '').map((each) => `#${createHash('sha256').update(each).digest('hex')}`)
if (hashes.length === 0) throw new Error(`${join(folder, 'password')} is empty`)

// The default user is off, so no client can log in as it. It keeps its rights all the same: Redis replays the append-only file in its
// name, and would discard every transaction that it is not allowed to run (redis/redis#14541, valkey-io/valkey#3983).
const replay = 'user default off resetpass allcommands allkeys allchannels'
const rights = '-@all +@read +@write +@connection +@pubsub +@scripting +@transaction -@admin -@dangerous -@blocking -function +info +time +config|get'
writeFileSync(file, `${replay}\nuser muster on ${hashes.join(' ')} ~muster:* &muster:* ${rights}\n`, { mode: 0o640 })
