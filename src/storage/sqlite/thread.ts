/**
 * @module storage/sqlite/thread
 * The entry point of the thread that owns the database. It handles one request after the other, in order; a request is
 * a whole group, so its transaction has ended before the next one is looked at.
 */
import { parentPort } from 'node:worker_threads'
import { EngineServer, type ThreadMessage, type ThreadRequest } from './host.ts'

const port = parentPort
if (port === null) throw new Error('storage/sqlite/thread runs only in a worker thread')
const server = new EngineServer((fileBytes) =>
  port.postMessage({ kind: 'checking', fileBytes } satisfies ThreadMessage),
)
port.on('message', (request: ThreadRequest) => port.postMessage(server.respond(request) satisfies ThreadMessage))
